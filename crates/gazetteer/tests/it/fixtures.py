#!/usr/bin/env python3
"""Writes units.csv and nearest.csv with the reference reader of the postcodes. Run it in this folder: ./fixtures.py"""
import csv, random, sys
sys.path.insert(0, '../../data/rebuild')
from postcodes_reference import Postcodes
P = Postcodes('../../data/postcodes_gb.bin.gz'); random.seed(7)
with open('units.csv', 'w', newline='') as f:
    w = csv.writer(f, lineterminator='\n'); w.writerow(['postcode', 'lat', 'lon', 'region'])
    for i in sorted(random.sample(range(P.ns), 300)):
        u = random.choice(P.sector(i)); w.writerow([*u[:3], P.auth[u[3]][2]])
places = [r for r in csv.DictReader(open('../../data/places.csv')) if r['country_iso'] == 'GB' and r['postcode_district'][:2] != 'BT']
with open('nearest.csv', 'w', newline='') as f:
    w = csv.writer(f, lineterminator='\n'); w.writerow(['lat', 'lon', 'postcode', 'region'])
    for r in random.sample(places, 150):
        lat, lon = (round(float(r[k]) + random.uniform(-.05, .05), 5) for k in ('lat', 'lon'))
        u, metres = P.nearest(lat, lon)
        if metres < 25000: w.writerow([lat, lon, u[0], P.auth[u[3]][2]])
