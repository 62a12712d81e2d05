"""Controls access to the server: tokens, host names, rate limits and security headers."""
