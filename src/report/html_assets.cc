#include "report/html_assets.h"

namespace tacho {

const std::string_view kReportStyle = R"CSS(
:root{color-scheme:light dark;--bg:#f6f7f9;--card:#fff;--ink:#1c2430;--soft:#667085;--line:#e4e7ec;--job:#2563eb;--job2:#ea7317;
--machine:#98a2b3;--machine2:#c4b5a0;--third:#12a594;--ok:#16803c;--okbg:#e3f5e9;--bad:#c02626;--badbg:#fdeaea;--warn:#9a6700;--warnbg:#fdf3d8}
@media(prefers-color-scheme:dark){:root{--bg:#0f1319;--card:#181e27;--ink:#e6eaf0;--soft:#93a0b4;--line:#2a3240;--job:#6ea8fe;--job2:#f5a15a;
--machine:#7a8699;--machine2:#8d8170;--third:#3fd0bd;--ok:#5fd68a;--okbg:#12301f;--bad:#ff8585;--badbg:#3a1a1c;--warn:#e8c063;--warnbg:#352a10}}
*{box-sizing:border-box}
body{margin:0;background:var(--bg);color:var(--ink);font:15px/1.45 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",sans-serif}
main{max-width:1180px;margin:0 auto;padding:28px 20px 48px}
.run+.run{margin-top:56px;padding-top:40px;border-top:2px solid var(--line)}
h1{font-size:24px;line-height:1.25;margin:0 0 4px;overflow-wrap:anywhere}
.head{display:flex;gap:14px;align-items:flex-start;justify-content:space-between;flex-wrap:wrap}
.head>div:first-child{flex:1 1 480px;min-width:0}
.badge{font-weight:600;padding:5px 13px;border-radius:999px;white-space:nowrap;background:var(--okbg);color:var(--ok)}
.badge.bad{background:var(--badbg);color:var(--bad)}.badge.open{background:var(--warnbg);color:var(--warn)}
.command{font:13px/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;color:var(--soft);overflow-wrap:anywhere;margin:2px 0}
.where{color:var(--soft);font-size:13.5px;margin:2px 0}
.tag{display:inline-block;border:1px solid var(--line);border-radius:6px;padding:0 7px;margin:4px 5px 0 0;font-size:12.5px;color:var(--soft)}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(145px,1fr));gap:12px;margin:20px 0}
.tile,.chart,.more{background:var(--card);border:1px solid var(--line);border-radius:12px}
.tile{padding:13px 16px}
.tile b{display:block;font-size:12px;font-weight:600;letter-spacing:.04em;text-transform:uppercase;color:var(--soft)}
.tile strong{display:block;font-size:23px;line-height:1.35;font-weight:650;letter-spacing:-.01em}
.tile span{color:var(--soft);font-size:13.5px}
.bar{height:5px;border-radius:3px;background:var(--line);margin-top:9px;overflow:hidden}
.bar i{display:block;height:100%;border-radius:3px;background:var(--job)}
.bar.full i{background:var(--bad)}
.charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,520px),1fr));gap:14px}
.chart{padding:12px 14px 6px;position:relative}
.chart h2{font-size:14px;margin:0;display:inline-block}
.legend{float:right;font-size:12.5px;color:var(--soft)}
.legend button{all:unset;cursor:pointer;margin-left:12px}
.legend button:focus-visible{outline:2px solid var(--job);border-radius:4px}
.legend button[aria-pressed=false]{opacity:.35}
.legend i{display:inline-block;width:11px;height:3px;border-radius:2px;vertical-align:middle;margin-right:5px}
svg{display:block;width:100%;height:190px;margin-top:6px;touch-action:pan-y}
svg text{fill:var(--soft);font-size:11px}
.grid{stroke:var(--line)}.cursor{stroke:var(--soft);stroke-dasharray:2 3}.limit{stroke:var(--bad);stroke-dasharray:6 4;opacity:.7}
.tip{position:absolute;pointer-events:none;background:var(--ink);color:var(--bg);font-size:12px;line-height:1.5;padding:5px 9px;border-radius:7px;
white-space:nowrap;top:38px;opacity:.94;display:none;z-index:2}
.more{margin-top:14px;padding:4px 18px}
.more summary{cursor:pointer;font-weight:600;padding:9px 0}
.scroll{overflow-x:auto}
table{border-collapse:collapse;width:100%;font-size:13.5px;margin-bottom:12px}
th{text-align:right;color:var(--soft);font-weight:600}th:first-child,td:first-child{text-align:left}
td{text-align:right;font-variant-numeric:tabular-nums}th,td{padding:4px 8px;border-top:1px solid var(--line);white-space:nowrap}
ul{margin:0 0 14px;padding-left:20px}
footer{color:var(--soft);font-size:12.5px;margin-top:36px}
@media print{body{background:#fff}.tile,.chart,.more{break-inside:avoid}}
)CSS";

const std::string_view kReportScript = R"JS(
'use strict';
const NS='http://www.w3.org/2000/svg',L=58,R=8,T=8,B=20,H=190;
const el=(tag,attrs,parent)=>{const e=document.createElementNS(NS,tag);for(const k in attrs)e.setAttribute(k,attrs[k]);parent&&parent.append(e);return e};
const trim=(v,d)=>{const s=v.toFixed(d);return s.includes('.')?s.replace(/\.?0+$/,''):s};
const clock=s=>s<60?trim(s,s<10?1:0)+'s':s<3600?Math.floor(s/60)+'m'+(Math.round(s%60)?String(Math.round(s%60)).padStart(2,'0')+'s':''):
 s<86400?Math.floor(s/3600)+'h'+String(Math.round(s%3600/60)).padStart(2,'0')+'m':Math.floor(s/86400)+'d'+String(Math.round(s%86400/3600)).padStart(2,'0')+'h';
function show(v,unit,short){
 if(v==null)return'–';
 if(unit.startsWith('bytes')){const n=['B','KiB','MiB','GiB','TiB','PiB'];let i=0;while(Math.abs(v)>=1024&&i<5){v/=1024;i++}
  return trim(v,short||v>=100?(v<10?1:0):1)+' '+n[i]+(unit.endsWith('/s')&&!short?'/s':'')}
 const t=trim(v,v>=100?0:v>=10?1:v>=.1?2:3);return unit==='%'?t+'%':short||!unit?t:t+' '+(v===1?unit.replace(/s$/,''):unit)}
function niceStep(max,unit,count){
 const raw=max/count,base=unit.startsWith('bytes')?1024:1000;
 if(base===1024){let p=1;while(p*1024<=raw)p*=1024;for(const m of[1,2,4,8,10,16,20,32,50,64,100,128,200,256,500,512,1024])if(m*p>=raw)return m*p}
 const p=Math.pow(10,Math.floor(Math.log10(raw)));for(const m of[1,2,2.5,5,10])if(m*p>=raw*.999)return m*p;return raw}
function timeStep(span,count){for(const s of[.01,.02,.05,.1,.2,.5,1,2,5,10,15,30,60,120,300,600,900,1800,3600,7200,10800,21600,43200,86400,172800,604800])
 if(span/s<=count)return s;return span/count}
for(const run of document.querySelectorAll('.run')){
 const data=JSON.parse(run.querySelector('script').textContent),t=data.t,end=t.length?t[t.length-1]:0,box=run.querySelector('.charts'),drawn=[];
 for(const c of data.charts){
  const card=document.createElement('div');card.className='chart';
  const h=document.createElement('h2');h.textContent=c.title+(c.unit.endsWith('/s')?' per second':c.unit==='W'?', W':'');
  const legend=document.createElement('div');legend.className='legend';
  const tip=document.createElement('div');tip.className='tip';
  const svg=el('svg',{role:'img','aria-label':c.title+' over time'});
  card.append(h,legend,svg,tip);box.append(card);
  for(const s of c.series){
   const b=document.createElement('button'),i=document.createElement('i');i.style.background='var(--'+s.role+')';
   b.setAttribute('aria-pressed','true');b.append(i,s.name);legend.append(b);
   b.onclick=()=>{s.off=!s.off;b.setAttribute('aria-pressed',String(!s.off));draw()}}
  let cursor,x=v=>v,width=0;
  function draw(){
   width=svg.clientWidth||600;svg.setAttribute('viewBox','0 0 '+width+' '+H);svg.replaceChildren();
   let max=0;for(const s of c.series)if(!s.off)for(const v of s.max||s.mean)if(v>max)max=v;
   const limited=c.limit&&max>c.limit*.35;if(limited)max=Math.max(max,c.limit);
   if(!max)max=c.unit.startsWith('bytes')?1024:1;
   const step=niceStep(max*1.02,c.unit,4),top=Math.ceil(max*1.02/step)*step;
   x=v=>L+(width-L-R)*(end?v/end:0);const y=v=>H-B-(H-B-T)*v/top;
   for(let v=0;v<=top*1.0001;v+=step){el('line',{x1:L,x2:width-R,y1:y(v),y2:y(v),class:'grid'},svg);
    el('text',{x:L-7,y:y(v)+4,'text-anchor':'end'},svg).textContent=show(v,c.unit,true)}
   const ts=timeStep(end||1,Math.max(2,Math.floor(width/90)));
   for(let v=0;v<=end*1.0001;v+=ts){const a=v===0?'start':x(v)>width-30?'end':'middle';el('text',{x:x(v),y:H-5,'text-anchor':a},svg).textContent=clock(v)}
   if(limited){el('line',{x1:L,x2:width-R,y1:y(c.limit),y2:y(c.limit),class:'limit'},svg);
    el('text',{x:width-R-3,y:y(c.limit)-4<T+6?y(c.limit)+13:y(c.limit)-4,'text-anchor':'end'},svg).textContent=show(c.limit,c.unit)+' '+c.limitName}
   for(const s of c.series){
    if(s.off)continue;
    const pieces=[];let piece=null;
    s.mean.forEach((v,i)=>{if(v==null){piece=null;return}
     if(!piece){piece=[[x(i?t[i-1]:0),y(v)]];pieces.push(piece)}piece.push([x(t[i]),y(v)])});
    const line=p=>p.map(q=>q[0].toFixed(1)+' '+q[1].toFixed(1)).join('L');
    if(s.max)el('path',{d:'M'+s.max.map((v,i)=>v==null?'':x(t[i]).toFixed(1)+' '+y(v).toFixed(1)).filter(Boolean).join('L'),fill:'none',
     stroke:'var(--'+s.role+')','stroke-width':1,opacity:.35},svg);
    for(const p of pieces){
     if(!s.role.startsWith('machine'))el('path',{d:'M'+line(p)+'L'+p[p.length-1][0].toFixed(1)+' '+y(0)+'L'+p[0][0].toFixed(1)+' '+y(0)+'Z',fill:'var(--'+s.role+')',opacity:.13},svg);
     el('path',{d:'M'+line(p),fill:'none',stroke:'var(--'+s.role+')','stroke-width':s.role.startsWith('machine')?1.4:1.9,'stroke-linejoin':'round'},svg)}}
   cursor=el('line',{y1:T,y2:H-B,class:'cursor',visibility:'hidden'},svg)}
  function point(i,own){
   if(i==null){cursor.setAttribute('visibility','hidden');tip.style.display='none';return}
   const at=x(t[i]);cursor.setAttribute('x1',at);cursor.setAttribute('x2',at);cursor.setAttribute('visibility','visible');
   tip.replaceChildren();
   const rows=[clock(t[i])].concat(c.series.filter(s=>!s.off).map(s=>s.name+'  '+show(s.mean[i],c.unit)+(s.max&&s.max[i]!=null?'  (max '+show(s.max[i],c.unit)+')':'')));
   for(const r of rows){const d=document.createElement('div');d.textContent=r;tip.append(d)}
   tip.style.display='block';const w=tip.offsetWidth;tip.style.left=(at+14+w+14>width?Math.max(4,at-w+4):at+26)+'px'}
  drawn.push({draw,point});
  const move=e=>{const r=svg.getBoundingClientRect(),s=(e.clientX-r.left-L)/(width-L-R)*end;let lo=0,hi=t.length-1;
   while(lo<hi){const m=(lo+hi)>>1;if(t[m]<s)lo=m+1;else hi=m}
   if(lo>0&&s-t[lo-1]<t[lo]-s)lo--;if(t.length)for(const d of drawn)d.point(lo)};
  svg.addEventListener('pointermove',move);svg.addEventListener('pointerdown',move);
  svg.addEventListener('pointerleave',()=>{for(const d of drawn)d.point(null)})}
 const all=()=>{for(const d of drawn)d.draw()};all();
 new ResizeObserver(all).observe(box)}
)JS";

}  // namespace tacho
