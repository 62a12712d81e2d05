"""The pages for people."""

from __future__ import annotations

from flask import Blueprint

pages = Blueprint("pages", __name__)
