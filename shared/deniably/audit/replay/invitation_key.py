"""A made-up RSA key of invitations, which signs nothing but the trades of an audit."""

P = int(
    "d1f4645036d7482c76647279e6aad3fd378e1406e0b05a844340e61ba54cd75a969e35e361eb6b58b2b69067"
    "1c4d8972ded11ab30e9501d9ec69960262143c7a4c761b2ef9961c0faf6a8e73367e941dce152bd899ef1374"
    "096ca1ff9816198a2bb04b0f2582731973f9374f4ff98644077c3a23d962103d240b9e180680d8eb",
    16,
)
"""The first prime of the key."""
Q = int(
    "c7bfbfb5b35c2c7f62892d16fec1ebb72474d0c64c751dc0e9af049f9c4ac09a40d30401068a9109465707dc"
    "9c3e62ebf3070cf7fd25f9489aa539ceb826c0f5d30fc020e0d38db1b63a414cf71044b8c5427f01647d49a6"
    "2f2663a22f2d0d982991bd3c8c2f7ac5fa6dd3844f00f0655c0572827c6a5b85d1e420601ca90307",
    16,
)
"""The second prime of the key."""
MODULUS = P * Q
TEXT = f"{MODULUS:x}"
"""The public key as a register has it: the modulus in hexadecimal."""

EXPONENT = pow(65537, -1, (P - 1) * (Q - 1))
"""The private exponent."""
