"""Certificates for tests of TLS."""

import os
import subprocess

import cli


def openssl(*arguments):
    subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True, timeout=cli.TIMEOUT_S)


def make_authority(folder, name):
    """A certificate authority, and a server certificate for localhost that it signs."""
    ca, key, request, certificate = (folder / f"{name}.{kind}" for kind in ("ca", "key", "csr", "crt"))
    openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
            "-subj", f"/CN={name}", "-keyout", f"{ca}.key", "-out", ca)
    openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=server",
            "-addext", "subjectAltName=DNS:localhost", "-keyout", key, "-out", request)
    openssl("x509", "-req", "-in", request, "-CA", ca, "-CAkey", f"{ca}.key", "-CAcreateserial", "-days", "2",
            "-copy_extensions", "copy", "-out", certificate)
    os.chmod(key, 0o600)
    return ca, certificate, key
