"""Access to the server: tokens, host names, rate limits and security headers."""
