"""The server: stores reports, counts them and shows what they tell; sees no true answer."""
