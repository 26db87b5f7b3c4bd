"""Registers that people bring along as spreadsheets: headers, rows, faults."""
