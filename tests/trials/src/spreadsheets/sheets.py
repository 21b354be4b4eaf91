"""Makes spreadsheets with openpyxl and LibreOffice, imports them, and compares what the service and its exports have."""

import csv
import datetime
import io
import json

import openpyxl
from openpyxl.styles import numbers

from files import BRITISH_CSV, GERMAN_CSV, UTF_8_CSV, call, convert, loads, save, send

HEADER = ["reference", "deliveryDateISO", "commodityName", "organiserId", "organiserName", "weight", "ticketNumber",
          "pickupPostcode", "tags"]
ROWS = [
    ["Ähre-1", datetime.date(2026, 3, 1), "Feed Wheat", "border-grain", "Börder & Söhne €", 29.4, "000123", "HR4 9AR",
     "harvest;späte"],
    ["=1+1", datetime.date(2026, 12, 13), "Malting Barley", "border-grain", "Börder & Söhne €", 1000, "1E5", "75008", ""],
]


def check(actual, expected, what):
    """Ends the program if two values differ."""
    if actual != expected:
        raise SystemExit(f"{what}:\n  {actual!r}\nexpected:\n  {expected!r}")


def workbook(rows, name):
    """Returns a workbook of openpyxl with typed cells. The dates have the short format of the computer that shows them."""
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.append(HEADER)
    for values in rows:
        sheet.append(values)
    for row in sheet.iter_rows(min_row=2):
        for cell in row:
            if isinstance(cell.value, str):
                cell.data_type, cell.number_format = "s", numbers.FORMAT_TEXT
            elif isinstance(cell.value, datetime.date):
                cell.number_format = "DD/MM/YYYY" if "uk" in name else "DD.MM.YYYY"
    if "1904" in name:
        book.epoch = openpyxl.utils.datetime.CALENDAR_MAC_1904
    stream = io.BytesIO()
    book.save(stream)
    return save(name, stream.getvalue())


def values(load):
    """Returns the cells of a load as in ROWS."""
    date = datetime.datetime.fromisoformat(load["deliveryDateISO"].replace("Z", "+00:00"))
    return [load["reference"], date.date(), load["commodity"]["name"], load["organiser"]["id"], load["organiser"]["name"],
            load["weight"]["weight"], load["ticketNumber"], load["pickupPostcode"], ";".join(load["tags"])]


def expected(rows):
    """Returns the rows as the service shows them: it knows the name of the caller's organisation."""
    return [row[:4] + [OWN_NAME or row[4]] + row[5:] for row in rows]


def imported(file, rows, what, **fields):
    """Imports a file and compares its loads with the rows."""
    answer = send(file, repeat="true", **fields)
    check([values(load) for load in loads(answer)], expected(rows), what)
    print(f"{what}: {answer['count']} loads")
    return answer


def exported(content):
    """Returns the header and the rows of an export, as openpyxl reads them."""
    book = openpyxl.load_workbook(io.BytesIO(content))
    check((len(book.sheetnames), book.active.freeze_panes), (1, "A2"), "sheets and frozen cells")
    header, *rows = [list(row) for row in book.active.iter_rows()]
    return [cell.value for cell in header], rows


first = send(workbook(ROWS[:1], "first.xlsx"))
OWN_NAME = loads(first)[0]["organiser"]["name"]
OWN_NAME = OWN_NAME if OWN_NAME != ROWS[0][4] else None

# openpyxl, with both date systems.
book = workbook(ROWS, "typed-uk.xlsx")
imported(book, ROWS, "openpyxl, typed cells")
imported(workbook(ROWS, "typed-uk-1904.xlsx"), ROWS, "openpyxl, dates from 1904")

# LibreOffice on computers in the United Kingdom and in Germany.
resaved = convert(book, "xlsx", "en-GB", "resaved")
imported(resaved, ROWS, "LibreOffice, XLSX")
british = convert(book, BRITISH_CSV, "en-GB", "british")
check("Börder".encode("cp1252") in british.read_bytes(), True, "Windows-1252")
check(b"01/03/2026" in british.read_bytes(), True, "British dates")
imported(british, ROWS, "LibreOffice, British CSV", dateOrder="dmy", encoding="windows-1252")
german = convert(workbook(ROWS, "typed-de.xlsx"), GERMAN_CSV, "de-DE", "german")
check(b"29,4;" in german.read_bytes() and b"13.12.2026" in german.read_bytes(), True, german.read_bytes())
options = {"dateOrder": "dmy", "decimal": "comma", "encoding": "windows-1252"}
imported(german, ROWS, "LibreOffice, German CSV", **options)

# What LibreOffice makes of German CSV: dates and numbers, not texts.
table = "reference;deliveryDateISO;commodityName;organiserId;organiserName;weight\nDE-1;13.12.2026;Feed Wheat;x;X;29,4\n"
source = save("plain.csv", table.replace(";x;X;", ";border-grain;Grain;").encode("cp1252"))
typed = convert(source, "xlsx", "de-DE", "typed", "Text - txt - csv (StarCalc):59,34,1,1,,1031,false,true")
answer = send(typed)
load = loads(answer)[0]
check((load["deliveryDateISO"], load["weight"]["weight"]), ("2026-12-13T00:00:00.000Z", 29.4), "typed from CSV")
print("LibreOffice, XLSX from German CSV: 1 load")

# The template, filled in with both programs.
template = save("template.xlsx", call("GET", "/v1/loads/batch/template?format=XLSX"))
filled = openpyxl.load_workbook(template)
check(filled.sheetnames, ["Loads", "Columns", "Commodities"], "sheets of the template")
names = [cell.value for cell in filled["Loads"][1]]
check(filled["Loads"]["B2"].is_date, True, "date cell of the sample")
filled["Loads"].append([dict(zip(HEADER, ROWS[0])).get(name) for name in names])
filled.save("filled.xlsx")
imported(template.with_name("filled.xlsx"), ROWS[:1], "template, openpyxl")
imported(convert(template.with_name("filled.xlsx"), "xlsx", "en-GB", "refilled"), ROWS[:1], "template, LibreOffice")
filled_csv = convert(template.with_name("filled.xlsx"), UTF_8_CSV, "en-GB", "refilled")
imported(filled_csv, ROWS[:1], "template, CSV of LibreOffice")

# The export, read with both programs, and saved again by LibreOffice.
offset = {"deliveryDateISO": "2026-03-05T09:30:00Z", "reference": "INSTANT", "organiserId": "border-grain",
          "organiserName": "Grain", "commodityId": 1, "weight": 1.25, "weightNet": None, "files": None, "tags": []}
call("POST", "/v1/loads/organiser", json.dumps(offset).encode(), "application/json")
total = len(call("GET", "/v1/loads?limit=100"))
export = save("export.xlsx", call("GET", "/v1/loads?format=XLSX"))
header, rows = exported(export.read_bytes())
check(len(rows), total, "rows of the export")
column = {name: header.index(name) for name in header}
texts = ["id", "reference", "organiserId", "ticketNumber", "pickupPostcode", "tags", "status"]
for row in rows:
    for name in texts:
        cell = row[column[name]]
        check((cell.value is None or isinstance(cell.value, str), cell.data_type == "f"), (True, False), name)
    check(row[column["deliveryDateISO"]].is_date, True, "date cell")
    for name in ["weight", "commodityId"]:
        check(isinstance(row[column[name]].value, (int, float)), True, name)
instants = [row[column["deliveryDateISO"]].value for row in rows if row[column["reference"]].value == "INSTANT"]
check(instants, [datetime.datetime(2026, 3, 5, 9, 30)], "date-time cell")
print(f"export, openpyxl: {total} rows")
with convert(export, UTF_8_CSV, "en-GB", "exported").open(encoding="utf-8", newline="") as file:
    opened = list(csv.DictReader(file))
original = list(csv.DictReader(io.StringIO(call("GET", "/v1/loads?format=CSV").decode())))
for row, known in zip(opened, original, strict=True):
    for name in texts + ["commodityName", "weight", "weightUnit"]:
        plain = known[name].removeprefix("'") if known[name].startswith("'=") else known[name]
        check(row[name], plain, f"{name} in LibreOffice")
    day = known["deliveryDateISO"].removesuffix("T00:00:00.000Z")
    check(row["deliveryDateISO"], day.replace("T", " ").replace(".000Z", "Z"), "date in LibreOffice")
print(f"export, LibreOffice: {len(opened)} rows")
again = send(convert(export, "xlsx", "de-DE", "reexported"), ifExists="skip")
check((again["count"], again["skipped"]), (0, total), "loads of the saved export exist")
renamed = openpyxl.load_workbook("reexported/export.xlsx")
for row in renamed.active.iter_rows(min_row=2):
    row[column["id"]].value = None
renamed.save("without-ids.xlsx")
answer = send(template.with_name("without-ids.xlsx"), ifExists="skip", dryRun="true")
check(answer["count"], 0, "loads exist by reference and delivery date, date-times included")
print(f"export saved by LibreOffice, ifExists=skip: {again['skipped']} rows")
