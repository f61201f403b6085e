"""Tables, pictures and pages for people."""
