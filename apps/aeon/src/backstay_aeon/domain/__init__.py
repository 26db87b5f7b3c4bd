"""The rules of the service, without engine, driver, network or clock."""
