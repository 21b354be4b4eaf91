"""Calls of the service and conversions by LibreOffice."""

import json
import os
import pathlib
import subprocess
import urllib.request
import uuid

FOLDER = pathlib.Path.cwd()
SHEET = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
LOCALE = """<?xml version="1.0" encoding="UTF-8"?>
<oor:items xmlns:oor="http://openoffice.org/2001/registry">
<item oor:path="/org.openoffice.Setup/L10N"><prop oor:name="ooSetupSystemLocale" oor:op="fuse"><value>{}</value></prop>
</item></oor:items>"""
# Separator, quote and encoding of CSV: semicolons in Windows-1252, commas in Windows-1252, commas in UTF-8.
GERMAN_CSV = 'csv:Text - txt - csv (StarCalc):59,34,1'
BRITISH_CSV = 'csv:Text - txt - csv (StarCalc):44,34,1'
UTF_8_CSV = 'csv:Text - txt - csv (StarCalc):44,34,76'


def call(method, path, body=None, content_type=None):
    """Returns the body of a 200 response, or its JSON."""
    headers = {"Authorization": "Bearer " + os.environ["TOKEN"]}
    if content_type:
        headers["Content-Type"] = content_type
    request = urllib.request.Request(os.environ["LOGISTICS"] + path, body, headers, method=method)
    try:
        with urllib.request.urlopen(request) as response:
            content = response.read()
            is_json = response.headers["Content-Type"].startswith("application/json")
    except urllib.error.HTTPError as error:
        raise SystemExit(f"{method} {path}: {error.code} {error.read().decode()}") from error
    return json.loads(content) if is_json else content


def send(file, **fields):
    """Sends a file as a batch."""
    boundary = uuid.uuid4().hex
    parts = [f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode()
             for name, value in fields.items()]
    head = f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="{file.name}"\r\n\r\n'
    parts += [head.encode(), file.read_bytes(), f"\r\n--{boundary}--\r\n".encode()]
    return call("POST", "/v1/loads/batch", b"".join(parts), "multipart/form-data; boundary=" + boundary)


def loads(answer):
    """Returns the loads that a batch created."""
    return call("GET", "/v1/loads/by-ids?ids=" + ",".join(answer["ids"]))


def save(name, content):
    """Writes a file to the folder."""
    path = FOLDER / name
    path.write_bytes(content)
    return path


def convert(file, to, locale, folder, input_filter=None):
    """Opens a file in LibreOffice as on a computer of a locale and saves it in another format and folder."""
    profile = FOLDER / ("profile-" + locale)
    (profile / "user").mkdir(parents=True, exist_ok=True)
    registry = profile / "user/registrymodifications.xcu"
    if not registry.exists():
        registry.write_text(LOCALE.format(locale))
    command = [os.environ["SOFFICE"], "-env:UserInstallation=" + profile.as_uri(), "--headless", "--norestore"]
    if input_filter:
        command.append("--infilter=" + input_filter)
    command += ["--convert-to", to, "--outdir", str(FOLDER / folder), str(file)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    made = FOLDER / folder / (file.stem + "." + to.split(":")[0])
    if done.returncode or not made.exists():
        raise SystemExit(f"{command}: {done.stdout}{done.stderr}")
    return made
