"""irish_border.csv: the border of Ireland and the United Kingdom, from the Irish Sea to the Atlantic.
Usage: border.py OUTDIR (needs timezonefinder, whose polygons of Europe/Dublin and Europe/London share these points)"""
import csv,math,sys
from timezonefinder import TimezoneFinder
TOLERANCE=75  # metres by which the line may leave the original
f=TimezoneFinder()
ring=lambda zone: [[tuple(p) for p in r] for poly in f.get_geometry(tz_name=zone,coords_as_pairs=True) for r in poly]
dublin=max(ring('Europe/Dublin'),key=len); london={p for r in ring('Europe/London') for p in r}
dublin=dublin[:-1] if dublin[0]==dublin[-1] else dublin
start=next(i for i,p in enumerate(dublin) if p not in london); runs=[[]]
for p in dublin[start:]+dublin[:start]:
    if p in london: runs[-1].append(p)
    elif runs[-1]: runs.append([])
line=max(runs,key=len); k=111195
xy=[(lon*k*math.cos(math.radians(54.6)),lat*k) for lon,lat in line]
# Douglas-Peucker
keep={0,len(line)-1}; stack=[(0,len(line)-1)]
while stack:
    a,b=stack.pop(); (ax,ay),(bx,by)=xy[a],xy[b]; dx,dy=bx-ax,by-ay; ll=dx*dx+dy*dy or 1e-9; worst=(0,0)
    for i in range(a+1,b):
        x,y=xy[i]; t=max(0,min(1,((x-ax)*dx+(y-ay)*dy)/ll)); worst=max(worst,((x-ax-t*dx)**2+(y-ay-t*dy)**2,i))
    if worst[0]>TOLERANCE**2: keep.add(worst[1]); stack+=[(a,worst[1]),(worst[1],b)]
with open(f'{sys.argv[1]}/irish_border.csv','w',newline='',encoding='utf8') as out:
    w=csv.writer(out,lineterminator='\n'); w.writerow(['lat','lon']); w.writerows([f'{line[i][1]:.4f}',f'{line[i][0]:.4f}'] for i in sorted(keep))
print('border',len(line),'points, kept',len(keep))
