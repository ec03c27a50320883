// What C++ writes into the page (src/report/page/html_data.cc), for the type checker alone.
interface PackedLine { name: string; role: string; low: number; top: number; scale: number; mean: string; min?: string; max?: string }
interface PackedChart { id: string; title: string; unit: string; empty: string; limits: { value: number; name: string }[]; lines: PackedLine[] }
type ProcessLine = [string, string, number, number, number | null, number | null, number, number | null, number | null, number | null, number | null, number | null, string];
interface RunData {
  name: string; id: string; running: boolean; oom_killed: boolean; start: number | null; seconds: number | null; lasted: number | null;
  rows_per_point: number; point_ms: number[]; charts: PackedChart[];
  oom: [number, number][]; throttled: [number, number, number][];
  phases: [string, number, number, string][]; points: [string, number][];
  band?: { words: string[]; pieces: [number, number][] };
  device_ms?: number[]; heat?: { kind: string; names: string[]; rows: string[] };
  devices?: PackedChart[]; devices_left_out?: number;
  processes: ProcessLine[]; download?: { name: string; whole: boolean };
}
interface Line { name: string; role: string; run: number; dash: number; mean: Float64Array; min: Float64Array | null; max: Float64Array | null; times: Float64Array; steps: Float64Array; hidden: boolean }
interface Drawn { measure(): boolean; draw(): void; point(at: number | null): void }
