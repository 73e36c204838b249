"""Recordings and worlds on a page in the browser, served by viser on loopback alone (extra `view`)."""
