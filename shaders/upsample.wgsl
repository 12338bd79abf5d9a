// Residual and upsample stage: symbols and the level above → samples. CPU twins: `residual/mod.rs`, `upsample/cpu.rs`.
//
// A workgroup rebuilds some rows of quads of a tile, one plane after the other; an invocation two by two quads, and V of
// one more row where its rows border on the block. Windows end at the tile's edge, so nothing is needed but the quads the
// tile covers in the level above, and V of one more row on both sides.
// What a cell is, and where coefficients come from, is in upsample_linear.wgsl or upsample_any.wgsl; what becomes of the
// samples in upsample_samples.wgsl or upsample_pixels.wgsl.
// Dispatch: x + y * num_workgroups.x = index into the `range` of `blocks`.
// Invariant: tiles have at most 64 columns, and blocks at most 512 quads of a tile's side, 32 or 64: `room` holds the
// windows of 16 rows. Rows of `samples` are of even length, and start at even indices.

@group(0) @binding(0) var<storage, read> narrow: array<u32>;
@group(0) @binding(1) var<storage, read> wide: array<i32>;
@group(0) @binding(2) var<storage, read> chunks: array<Chunk>;
@group(0) @binding(3) var<storage, read> blocks: array<Block>;
@group(0) @binding(4) var<storage, read> planes: array<Plane>;
@group(0) @binding(5) var<storage, read> coefficients: array<vec4<i32>>;
@group(0) @binding(6) var<storage, read_write> samples: array<vec2<i32>>;
@group(0) @binding(8) var<uniform> range: Range;

// Pairs of columns of a row in `room`: 32, and one more on both sides, which repeats the tile's edge column.
const STRIDE: u32 = 34u;
// Rows of the level above that windows of so many rows of quads reach: three more on both sides.
const ABOVE_ROWS: u32 = 22u;
// Row means: those of the rows of quads, and of one more on both sides.
const MEAN_ROWS: u32 = 36u;
const MEANS: u32 = ABOVE_ROWS * STRIDE;
const WORKGROUP: u32 = 128u;

// Rows of the level above, from three above the block on; then row means, from two above it on. Beyond the tile its
// first or last row repeats.
var<workgroup> room: array<vec2<i32>, (ABOVE_ROWS + MEAN_ROWS) * STRIDE>;

// A row of a window: five columns.
struct Row { left: vec4<i32>, right: i32 }
// A row of the windows of both columns of an invocation.
struct Line { before: vec2<i32>, own: vec2<i32>, after: vec2<i32> }
struct Taps { t0: vec4<i32>, t1: vec4<i32>, t2: vec4<i32>, t3: vec4<i32>, t4: vec4<i32>, t5: vec4<i32>, t6: vec4<i32> }

// Where an invocation stands, and what it rebuilds of a plane.
struct Place {
    // Its pair of columns.
    pair: u32,
    // First row of quads, and the first behind the block.
    y: u32,
    end: u32,
    // How far below `y` the bordering row is.
    border: u32,
    has_border: bool,
    // Quads from here on have no lower half.
    v_rows: u32,
    // Which columns have a right half.
    has_right: vec2<bool>,
    rows: u32,
    // Whether the tile ends between the two columns, and whether it starts before or ends behind them.
    is_half: bool,
    is_left_edge: bool,
    is_right_edge: bool,
    // Index in `room` of the invocation's samples of the level above, and of its upper row means.
    above: u32,
    mean: u32,
}

// Symbols or residuals of the two quads of a row: V, H0, H1.
struct Trio { v: Cell, h0: Cell, h1: Cell }
// Those of an invocation, and V of its bordering row.
struct Cells { first: Trio, second: Trio, border: Cell }

// Four lines of four samples.
struct Lines { a: vec4<i32>, b: vec4<i32>, c: vec4<i32>, d: vec4<i32> }

fn line_at(at: u32) -> Line {
    return Line(room[at - 1u], room[at], room[at + 1u]);
}

// The row of the window around the left or the right column.
fn left_of(line: Line) -> Row {
    return Row(vec4<i32>(line.before, line.own), line.after.x);
}

fn right_of(line: Line) -> Row {
    return Row(vec4<i32>(line.before.y, line.own, line.after.x), line.after.y);
}

// Stores a pair, and beyond the tile's left and right edge once more.
fn store(place: Place, at: u32, value: vec2<i32>) {
    let pair = select(value, value.xx, place.is_half);
    room[at] = pair;
    if place.is_left_edge {
        room[at - 1u] = pair.xx;
    }
    if place.is_right_edge {
        room[at + 1u] = pair.yy;
    }
}

fn weighted(taps: Taps, a: Row, b: Row, c: Row, d: Row, e: Row) -> i32 {
    return dot(taps.t0, a.left) + dot(taps.t1, b.left) + dot(taps.t2, c.left) + dot(taps.t3, d.left)
        + dot(taps.t4, e.left) + dot(taps.t5, vec4<i32>(a.right, b.right, c.right, d.right)) + taps.t6.x * e.right;
}

// The sums over both columns' windows.
fn window_sums(plane: Plane, taps: Taps, band: u32, a: Line, b: Line, c: Line, d: Line, e: Line, h0: vec2<i32>) -> vec2<i32> {
    return vec2<i32>(
        window_sum(plane, taps, band, left_of(a), left_of(b), left_of(c), left_of(d), left_of(e), h0.x),
        window_sum(plane, taps, band, right_of(a), right_of(b), right_of(c), right_of(d), right_of(e), h0.y),
    );
}

fn dequantise(step: u32, symbols: vec2<i32>) -> vec2<i32> {
    let magnitudes = bitcast<vec2<u32>>(abs(symbols)) * step - vec2<u32>((3u * step) >> 6u) + vec2<u32>(8u);
    return select(bitcast<vec2<i32>>(magnitudes >> vec2<u32>(4u)) * sign(symbols), vec2<i32>(0), symbols == vec2<i32>(0));
}

fn residuals_of(plane: Plane, step: u32, sums: vec2<i32>, symbols: vec2<i32>) -> vec2<i32> {
    if !EXACT && step != 16u {
        return dequantise(step, symbols);
    }
    let flips = ((sums + vec2<i32>(1024)) & vec2<i32>(1024)) == vec2<i32>(0);
    return select(symbols, -symbols, flips & vec2<bool>(plane.predictor != PREDICTOR_NONE));
}

// V, H0 or H1 from the sums over their windows and their residuals, and the residuals of the planes before.
fn values_of(plane: Plane, band: u32, sums: vec2<i32>, residuals: vec2<i32>, near: Cell, far: Cell) -> vec2<i32> {
    let s = shift_of(plane);
    let alone = (((sums + vec2<i32>(1024)) >> vec2<u32>(11u)) << vec2<u32>(s)) + residuals;
    if EXACT {
        return alone;
    }
    let both = (seen_by(plane, near) >> vec2<u32>(s)) * extractBits(bitcast<i32>(plane.near), 8u * band, 8u)
        + (seen_by(plane, far) >> vec2<u32>(s)) * extractBits(bitcast<i32>(plane.far), 8u * band, 8u);
    return alone + (((both + vec2<i32>(32)) >> vec2<u32>(6u)) << vec2<u32>(s));
}

// The row means of quad row `y` from the sums for V, to `room` at `at`; gives V's residuals.
fn rebuild_means(
    plane: Plane, place: Place, y: u32, at: u32, is_wanted: bool, sums: vec2<i32>, means: vec2<i32>,
    symbols: Cell, near: Cell, far: Cell,
) -> Cell {
    let residuals = residuals_of(plane, plane.step_v, sums, pair_of(symbols));
    // A quad without a lower half has one mean, which repeats below as that of any last row does.
    let v = select(vec2<i32>(0), values_of(plane, 0u, sums, residuals, near, far), y < place.v_rows);
    let below = means - ((v + vec2<i32>(1)) >> vec2<u32>(1u));
    let upper = below + v;
    if is_wanted {
        store(place, at, upper);
        store(place, at + STRIDE, below);
        if y == 0u {
            store(place, at - STRIDE, upper);
            store(place, at - 2u * STRIDE, upper);
        }
        // (Behind a bordering row nobody looks.)
        if y + 1u == place.rows && y < place.end {
            store(place, at + 2u * STRIDE, below);
            store(place, at + 3u * STRIDE, below);
        }
    }
    return cell_of(residuals);
}

// The row means of the block and the rows around it. (Sums of rows that do not exist are taken as well: branches would
// keep the sums from running side by side.)
fn means_pass(plane: Plane, taps: Taps, place: Place, symbols: Cells, near: Cells, far: Cells) -> Cells {
    var residuals = Cells();
    var at = place.above;
    let a = line_at(at - 2u * STRIDE);
    let b = line_at(at - STRIDE);
    let c = line_at(at);
    let d = line_at(at + STRIDE);
    let e = line_at(at + 2u * STRIDE);
    let f = line_at(at + 3u * STRIDE);
    let first = window_sums(plane, taps, 0u, a, b, c, d, e, vec2<i32>(0));
    let second = window_sums(plane, taps, 0u, b, c, d, e, f, vec2<i32>(0));
    residuals.first.v = rebuild_means(plane, place, place.y, place.mean, place.y < place.end, first, c.own,
        symbols.first.v, near.first.v, far.first.v);
    residuals.second.v = rebuild_means(plane, place, place.y + 1u, place.mean + 2u * STRIDE, place.y + 1u < place.end,
        second, d.own, symbols.second.v, near.second.v, far.second.v);
    if place.has_border {
        at += place.border * STRIDE;
        let own = line_at(at);
        let sums = window_sums(plane, taps, 0u, line_at(at - 2u * STRIDE), line_at(at - STRIDE), own,
            line_at(at + STRIDE), line_at(at + 2u * STRIDE), vec2<i32>(0));
        residuals.border = rebuild_means(plane, place, place.y + place.border, place.mean + 2u * place.border * STRIDE,
            true, sums, own.own, symbols.border, near.border, far.border);
    }
    return residuals;
}

// What a band adds to the means of a row of quads, and its residuals.
fn differences(
    plane: Plane, band: u32, step: u32, place: Place, sums: vec2<i32>, symbols: Cell, near: Cell, far: Cell,
    residuals: ptr<function, Cell>,
) -> vec2<i32> {
    let own = residuals_of(plane, step, sums, pair_of(symbols));
    *residuals = cell_of(own);
    return select(vec2<i32>(0), values_of(plane, band, sums, own, near, far), place.has_right);
}

// A line of samples from means and the differences of their halves.
fn line_of(means: vec2<i32>, h: vec2<i32>) -> vec4<i32> {
    let right = means - (h >> vec2<u32>(1u));
    let left = right + h;
    return vec4<i32>(left.x, right.x, left.y, right.y);
}

// The samples of the block. `residuals` has V's, and gets the others.
fn quads_pass(
    plane: Plane, taps0: Taps, taps1: Taps, place: Place, symbols: Cells, near: Cells, far: Cells,
    residuals: ptr<function, Cells>,
) -> Lines {
    let at = place.mean;
    let a = line_at(at - 2u * STRIDE);
    let b = line_at(at - STRIDE);
    let c = line_at(at);
    let d = line_at(at + STRIDE);
    let e = line_at(at + 2u * STRIDE);
    let f = line_at(at + 3u * STRIDE);
    let g = line_at(at + 4u * STRIDE);
    let h = line_at(at + 5u * STRIDE);
    let sums0 = window_sums(plane, taps0, 1u, a, b, c, d, e, vec2<i32>(0));
    let sums1 = window_sums(plane, taps0, 1u, c, d, e, f, g, vec2<i32>(0));
    var cell = Cell();
    let first0 = differences(plane, 1u, plane.step_h0, place, sums0, symbols.first.h0, near.first.h0, far.first.h0, &cell);
    (*residuals).first.h0 = cell;
    let second0 = differences(plane, 1u, plane.step_h0, place, sums1, symbols.second.h0, near.second.h0, far.second.h0, &cell);
    (*residuals).second.h0 = cell;
    let sums2 = window_sums(plane, taps1, 2u, b, c, d, e, f, first0);
    let sums3 = window_sums(plane, taps1, 2u, d, e, f, g, h, second0);
    let first1 = differences(plane, 2u, plane.step_h1, place, sums2, symbols.first.h1, near.first.h1, far.first.h1, &cell);
    (*residuals).first.h1 = cell;
    let second1 = differences(plane, 2u, plane.step_h1, place, sums3, symbols.second.h1, near.second.h1, far.second.h1, &cell);
    (*residuals).second.h1 = cell;
    return Lines(line_of(c.own, first0), line_of(d.own, first1), line_of(e.own, second0), line_of(f.own, second1));
}

// What is needed of a chunk: where its symbols stand, its kind, and the tile's columns.
struct Source { symbols: u32, kind: u32, columns: u32 }

fn source_of(block: Block, plane: u32) -> Source {
    let chunk = block.chunks + plane;
    return Source(chunks[chunk].symbols, chunks[chunk].kind, block.shape & 255u);
}

fn symbols_at(source: Source, place: Place) -> Cells {
    var symbols = Cells();
    if (source.kind & CHUNK_EMPTY) == 0u {
        // (Rows and columns that do not exist take what others have: fewer branches.)
        let last = place.rows - 1u;
        let pair = min(place.pair, (source.columns - 1u) >> 1u);
        let first = 3u * min(place.y, last);
        let second = 3u * min(place.y + 1u, last);
        let border = 3u * min(place.y + place.border, last);
        if (source.kind & CHUNK_WIDE) == 0u {
            symbols.first = Trio(narrow_at(source, first, pair), narrow_at(source, first + 1u, pair), narrow_at(source, first + 2u, pair));
            symbols.second = Trio(narrow_at(source, second, pair), narrow_at(source, second + 1u, pair), narrow_at(source, second + 2u, pair));
            symbols.border = narrow_at(source, border, pair);
        } else {
            symbols.first = Trio(wide_at(source, first, pair), wide_at(source, first + 1u, pair), wide_at(source, first + 2u, pair));
            symbols.second = Trio(wide_at(source, second, pair), wide_at(source, second + 1u, pair), wide_at(source, second + 2u, pair));
            symbols.border = wide_at(source, border, pair);
        }
    }
    return symbols;
}

// Symbols of two to a word; `row` counts bands.
fn narrow_at(source: Source, row: u32, pair: u32) -> Cell {
    return cell_of_word(narrow[source.symbols + row * ((source.columns + 1u) >> 1u) + pair]);
}

// Symbols of one to a word.
fn wide_at(source: Source, row: u32, pair: u32) -> Cell {
    let at = source.symbols + row * source.columns + 2u * pair;
    let has_second = 2u * pair + 1u < source.columns;
    return cell_of(vec2<i32>(wide[at], select(0, wide[at + select(0u, 1u, has_second)], has_second)));
}

// The samples of the level above that an invocation brings to `room`: of up to four rows, as far apart as rows of
// invocations go.
struct Above { a: vec2<i32>, b: vec2<i32>, c: vec2<i32>, d: vec2<i32> }

fn above_at(block: Block, plane: u32, place: Place, first: i32, step: i32) -> Above {
    let at = block.lower + plane * block.lower_plane + 2u * min(place.pair, ((block.shape & 255u) - 1u) >> 1u);
    let rows = vec4<i32>(first) + vec4<i32>(0, 1, 2, 3) * step;
    let y = vec4<u32>(clamp(rows, vec4<i32>(0), vec4<i32>(i32(place.rows) - 1)));
    let source = (vec4<u32>(at) + y * block.lower_stride) >> vec4<u32>(1u);
    return Above(samples[source.x], samples[source.y], samples[source.z], samples[source.w]);
}

@compute @workgroup_size(WORKGROUP)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) invocation: u32,
) {
    let number = group.x + group.y * groups.x;
    if number >= range.count {
        return;
    }
    let block = blocks[range.first + number];
    let columns = block.shape & 255u;
    let h_columns = (block.shape >> 16u) & 255u;
    let rows = (block.shape >> 8u) & 255u;
    let pairs_log2 = (block.strip >> 16u) - 1u;
    let start = block.strip & 255u;
    let end = start + ((block.strip >> 8u) & 255u);
    let pair = invocation & ((1u << pairs_log2) - 1u);
    let row = invocation >> pairs_log2;
    let step = WORKGROUP >> pairs_log2;
    let x = 2u * pair;
    let exists = x < columns;

    var place: Place;
    place.pair = pair;
    place.y = start + 2u * row;
    place.end = select(0u, end, exists);
    // The row above the block, which wraps around where there is none, or the one below.
    place.border = select(0u - 1u, end - place.y, row == 1u);
    place.has_border = exists && row < 2u && place.y + place.border < rows;
    place.v_rows = block.shape >> 24u;
    place.has_right = vec2<bool>(x < h_columns, x + 1u < h_columns);
    place.rows = rows;
    place.is_half = x + 1u == columns;
    place.is_left_edge = pair == 0u;
    place.is_right_edge = x + 2u >= columns;
    place.above = (2u * row + 3u) * STRIDE + pair + 1u;
    place.mean = MEANS + (4u * row + 2u) * STRIDE + pair + 1u;
    let above_rows = end - start + 6u;
    let first_above = i32(start + row) - 3;

    var near = Cells();
    var far = Cells();
    // What a plane takes is fetched while the one before is being rebuilt, and where its symbols stand one plane earlier.
    let last = block.planes - 1u;
    var source_ahead = source_of(block, min(1u, last));
    var ahead = above_at(block, 0u, place, first_above, i32(step));
    var symbols_ahead = symbols_at(source_of(block, 0u), place);
    for (var p = 0u; p < block.planes; p++) {
        let plane = planes[block.params + p];
        let symbols = symbols_ahead;
        workgroupBarrier();
        if exists {
            let to = row * STRIDE + pair + 1u;
            store(place, to, ahead.a);
            if row + step < above_rows {
                store(place, to + step * STRIDE, ahead.b);
            }
            if row + 2u * step < above_rows {
                store(place, to + 2u * step * STRIDE, ahead.c);
            }
            if row + 3u * step < above_rows {
                store(place, to + 3u * step * STRIDE, ahead.d);
            }
        }
        workgroupBarrier();
        if p + 1u < block.planes {
            ahead = above_at(block, p + 1u, place, first_above, i32(step));
            symbols_ahead = symbols_at(source_ahead, place);
            source_ahead = source_of(block, min(p + 2u, last));
        }
        var residuals = means(plane, place, symbols, near, far);
        workgroupBarrier();
        let lines = quads(plane, place, symbols, near, far, &residuals);
        emit(block, p, lines, place);
        far = near;
        near = residuals;
    }
    finish(block, place, row, invocation);
}
