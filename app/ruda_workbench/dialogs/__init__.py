"""Sheets that ask for something before work starts."""
