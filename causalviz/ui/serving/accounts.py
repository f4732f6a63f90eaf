"""People who may log in: a file of names and salted hashes of their passwords."""

import base64
import binascii
import hashlib
import hmac
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from causalviz.errors import ParameterError

_NAME = re.compile(r"[^\s:]{1,64}")
_LEAST = 12
"""Characters of a password."""
_SCRYPT = "scrypt"
_COST = {"n": 2**15, "r": 8, "p": 3}
"""32 MB and about a fifth of a second for every guess."""
_MEMORY = 64 * 2**20
_BYTES = 32


@dataclass(frozen=True, kw_only=True, slots=True)
class _Kept:
    salt: bytes
    key: bytes


@dataclass(frozen=True, slots=True)
class Accounts:
    """Who may log in."""

    _kept: Mapping[str, _Kept]
    _nobody: _Kept

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read a file of login_line's lines; empty lines and those that begin with ``#`` are left out.

        Raises:
            ParameterError: the file cannot be read, holds nobody, or a line is not one of login_line's. No message
                repeats a line.
        """
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeError) as error:
            why = error.strerror if isinstance(error, OSError) else "no UTF-8"
            raise ParameterError(
                f"the file of logins '{path}' cannot be read ({why}); make one with "
                "`python -m causalviz serve --make-login NAME`, or unset CAUSALVIZ_AUTH_FILE."
            ) from error
        kept: dict[str, _Kept] = {}
        for number, line in enumerate(lines, 1):
            if not line.strip() or line.startswith("#"):
                continue
            name, found = _parsed(line)
            if found is None or name in kept:
                what = "names a person for the second time" if name in kept else "is no login"
                raise ParameterError(
                    f"line {number} of the file of logins '{path}' {what}; replace it by one that "
                    "`python -m causalviz serve --make-login NAME` prints."
                )
            kept[name] = found
        if not kept:
            raise ParameterError(
                f"the file of logins '{path}' holds nobody; add a line that "
                "`python -m causalviz serve --make-login NAME` prints."
            )
        return cls(kept, _Kept(salt=secrets.token_bytes(_BYTES), key=secrets.token_bytes(_BYTES)))

    def accepts(self, name: str, password: str) -> bool:
        """Compare in a time that depends neither on the name nor on the password."""
        kept = self._kept.get(name, self._nobody)
        return hmac.compare_digest(_key(password, kept.salt), kept.key)


def login_line(name: str, password: str) -> str:
    """Make a line for the file: ``name:scrypt:salt:key``, the last two in base64.

    Raises:
        ParameterError: the name is none, or the password is too short.
    """
    if not _NAME.fullmatch(name):
        raise ParameterError(
            f"'{name[:80]}' cannot be a login; use 1 to 64 characters without spaces and colons."
        )
    if len(password) < _LEAST:
        raise ParameterError(
            f"the password has {len(password)} characters; use {_LEAST} or more, for example four words."
        )
    salt = secrets.token_bytes(_BYTES)
    parts = [base64.b64encode(part).decode("ascii") for part in (salt, _key(password, salt))]
    return ":".join([name, _SCRYPT, *parts])


def _parsed(line: str) -> tuple[str, _Kept | None]:
    name, *rest = line.strip().split(":")
    if not _NAME.fullmatch(name) or len(rest) != 3 or rest[0] != _SCRYPT:  # noqa: PLR2004 - the function, salt, key
        return name, None
    try:
        salt, key = (base64.b64decode(part, validate=True) for part in rest[1:])
    except (binascii.Error, ValueError):
        return name, None
    return name, _Kept(salt=salt, key=key) if len(salt) == len(key) == _BYTES else None


def _key(password: str, salt: bytes) -> bytes:
    # A password may hold anything a form can send, lone surrogates too.
    return hashlib.scrypt(
        password.encode("utf-8", "surrogatepass"), salt=salt, **_COST, maxmem=_MEMORY, dklen=_BYTES
    )
