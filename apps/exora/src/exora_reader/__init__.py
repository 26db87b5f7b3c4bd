"""A reader of medical letters by rules, served over the OpenAI protocol; it knows nothing of the application."""
