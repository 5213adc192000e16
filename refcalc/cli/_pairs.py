"""Options of the form NAME=VALUE."""

__all__ = ["pair"]


def pair(option: str, form: str, text: str) -> tuple[str, str]:
    """Return the name and the value; option and form: "report: --baseline" and "NAME=RECEIPTS", for a refusal."""
    name, _, value = text.partition("=")
    if not (name and value):
        raise ValueError(f"{option} must be {form}, got {text!r}")
    return name, value
