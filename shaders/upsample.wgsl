// Residual and upsample stage: symbols and the level above → samples. CPU twins: `residual/mod.rs`, `upsample/cpu.rs`.
//
// A workgroup rebuilds some rows of quads of a tile, one plane after the other. Windows end at the tile's edge, so
// nothing is needed but the quads the tile covers in the level above, and V of one more row on both sides.
// What becomes of the samples is for `emit` and `finish` to say: upsample_samples.wgsl or upsample_pixels.wgsl.
// Dispatch: x + y * num_workgroups.x = index into the `range` of `blocks`.
// Invariant: (3 rows + 10) × side of a block is at most `ROOM` (the host sees to it), so `room` holds its windows.

@group(0) @binding(0) var<storage, read> narrow: array<u32>;
@group(0) @binding(1) var<storage, read> wide: array<i32>;
@group(0) @binding(2) var<storage, read> chunks: array<Chunk>;
@group(0) @binding(3) var<storage, read> blocks: array<Block>;
@group(0) @binding(4) var<storage, read> planes: array<Plane>;
@group(0) @binding(5) var<storage, read> coefficients: array<vec4<i32>>;
@group(0) @binding(6) var<storage, read_write> samples: array<i32>;
@group(0) @binding(8) var<uniform> range: Range;

const ROOM: u32 = 3712u;
// Quads that an invocation rebuilds, one below the other.
const QUADS: u32 = 4u;
const ACTIVITY_CAP: u32 = 16383u;

// Samples of the level above, then row means, both `side` to a row.
var<workgroup> room: array<i32, ROOM>;

// Columns of a window, at the tile's edge its edge column.
var<private> left: vec4<u32>;
var<private> right: u32;
// Residuals of the two planes before, the nearer one first: of the own quads, and of V of a quad outside the block.
var<private> near_: array<vec3<i32>, 4>;
var<private> far_: array<vec3<i32>, 4>;
var<private> near_outside: i32;
var<private> far_outside: i32;

struct Row { left: vec4<i32>, right: i32 }
struct Taps { t0: vec4<i32>, t1: vec4<i32>, t2: vec4<i32>, t3: vec4<i32>, t4: vec4<i32>, t5: vec4<i32>, t6: vec4<i32> }
struct Predicted { sum: i32, residual: i32, value: i32 }

fn window_row(start: u32) -> Row {
    return Row(
        vec4<i32>(room[start + left.x], room[start + left.y], room[start + left.z], room[start + left.w]),
        room[start + right],
    );
}

fn taps_at(start: u32) -> Taps {
    return Taps(
        coefficients[start], coefficients[start + 1u], coefficients[start + 2u], coefficients[start + 3u],
        coefficients[start + 4u], coefficients[start + 5u], coefficients[start + 6u],
    );
}

fn weighted(taps: Taps, a: Row, b: Row, c: Row, d: Row, e: Row) -> i32 {
    return dot(taps.t0, a.left) + dot(taps.t1, b.left) + dot(taps.t2, c.left) + dot(taps.t3, d.left)
        + dot(taps.t4, e.left) + dot(taps.t5, vec4<i32>(a.right, b.right, c.right, d.right)) + taps.t6.x * e.right;
}

fn scaled(row: Row, centre: i32, shift: u32) -> Row {
    let by = vec4<u32>(shift);
    return Row((row.left - vec4<i32>(centre)) >> by, (row.right - centre) >> shift);
}

fn activity(difference: i32, shift: u32) -> u32 {
    return min(bitcast<u32>(abs(difference)) >> shift, ACTIVITY_CAP);
}

// Nine directions × four activities: `class_of` of upsample/mod.rs.
fn class_of(b: Row, c: Row, d: Row, shift: u32) -> u32 {
    let m = c.left.z;
    let gh = activity(c.left.y - m, shift) + activity(c.left.w - m, shift);
    let gv = activity(b.left.z - m, shift) + activity(d.left.z - m, shift);
    let d1 = activity(b.left.y - m, shift) + activity(d.left.w - m, shift);
    let d2 = activity(b.left.w - m, shift) + activity(d.left.y - m, shift);
    let hx = max(gh, gv);
    let hn = min(gh, gv);
    let dx = max(d1, d2);
    let dn = min(d1, d2);
    let straight = hx * dn > dx * hn;
    let high = select(dx, hx, straight);
    let low = select(dn, hn, straight);
    let first = select(5u + select(0u, 1u, d2 >= d1), 1u + select(0u, 1u, gv >= gh), straight);
    let direction = select(0u, first + 2u, high > 2u * low) - select(0u, 2u, 2u * high > 9u * low);
    let sum = gh + gv;
    return 9u * (select(0u, 1u, sum >= 6u) + select(0u, 1u, sum >= 16u) + select(0u, 1u, sum >= 44u)) + direction;
}

// The sum of coefficient × difference over a window. `taps` are those of a linear predictor.
fn window_sum(plane: Plane, taps: Taps, band: u32, a: Row, b: Row, c: Row, d: Row, e: Row, h0: i32) -> i32 {
    if plane.predictor == PREDICTOR_NONE {
        return 0;
    }
    var use_taps = taps;
    if CLASSED && plane.predictor == PREDICTOR_CLASSED {
        let which = class_of(b, c, d, plane.activity_shift);
        use_taps = taps_at(plane.coefficients + band * plane.band_stride + which * WINDOW_VECTORS);
    }
    if plane.sample_shift > 0u {
        let m = c.left.z;
        let s = plane.sample_shift;
        return weighted(use_taps, scaled(a, m, s), scaled(b, m, s), scaled(c, m, s), scaled(d, m, s), scaled(e, m, s))
            + use_taps.t6.y * (h0 >> s);
    }
    return weighted(use_taps, a, b, c, d, e) + use_taps.t6.y * h0;
}

fn symbol_at(chunk: Chunk, band: u32, row: u32, column: u32) -> i32 {
    if (chunk.kind & CHUNK_EMPTY) != 0u {
        return 0;
    }
    let columns = chunk.shape & 255u;
    if (chunk.kind & CHUNK_WIDE) != 0u {
        return wide[chunk.symbols + (row * 3u + band) * columns + column];
    }
    let word = narrow[chunk.symbols + (row * 3u + band) * ((columns + 1u) >> 1u) + (column >> 1u)];
    return extractBits(bitcast<i32>(word), 16u * (column & 1u), 16u);
}

fn dequantise(step: u32, symbol: i32) -> i32 {
    let scaled = bitcast<i32>((bitcast<u32>(abs(symbol)) * step - ((3u * step) >> 6u) + 8u) >> 4u);
    return select(select(scaled, -scaled, symbol < 0), symbol, symbol == 0);
}

// V, H0 or H1 from the sum over its window and its symbol.
fn predicted(plane: Plane, step: u32, sum: i32, symbol: i32, near: i32, near_factor: i32, far: i32, far_factor: i32) -> Predicted {
    var residual = symbol;
    if step != 16u {
        residual = dequantise(step, symbol);
    } else if plane.predictor != PREDICTOR_NONE && ((sum + 1024) & 2047) < 1024 {
        residual = -residual;
    }
    let s = plane.sample_shift;
    let cross = (((near >> s) * near_factor + (far >> s) * far_factor + 32) >> 6u) << s;
    return Predicted(sum, residual, (((sum + 1024) >> 11u) << s) + cross + residual);
}

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) invocation: u32,
) {
    let place = group.x + group.y * groups.x;
    if place >= range.count {
        return;
    }
    let block = blocks[range.first + place];
    let columns = block.shape & 255u;
    let rows = (block.shape >> 8u) & 255u;
    let h_columns = (block.shape >> 16u) & 255u;
    let v_rows = block.shape >> 24u;
    let side_log2 = block.strip >> 16u;
    let side = 1u << side_log2;
    let start = block.strip & 255u;
    let end = start + ((block.strip >> 8u) & 255u);
    // Rows of quads whose V is needed, and rows of the level above that takes.
    let v_start = max(start, 1u) - 1u;
    let v_end = min(end + 1u, rows);
    let above_start = max(start, 3u) - 3u;
    let above_end = min(end + 3u, rows);
    let means_at = (above_end - above_start) << side_log2;

    let x = invocation & (side - 1u);
    let first = start + (invocation >> side_log2) * QUADS;
    let edge = columns - 1u;
    left = vec4<u32>(max(x, 2u) - 2u, max(x, 1u) - 1u, min(x, edge), min(x + 1u, edge));
    left = min(left, vec4<u32>(edge));
    right = min(x + 2u, edge);
    let exists = x < columns;
    // An invocation also rebuilds V of one quad of the rows around the block.
    let outside_row = select(v_start, end, invocation >= side);
    let outside = exists && invocation < 2u * side && (outside_row < start || outside_row >= end) && outside_row < v_end;

    for (var p = 0u; p < block.planes; p++) {
        let plane = planes[block.params + p];
        let chunk = chunks[block.chunks + p];
        let lower = block.lower + p * block.lower_plane;
        workgroupBarrier();
        for (var y = above_start + (invocation >> side_log2); y < above_end; y += 256u >> side_log2) {
            if exists {
                room[((y - above_start) << side_log2) + x] = samples[lower + y * block.lower_stride + x];
            }
        }
        workgroupBarrier();

        // Row means, two to a quad where it has a lower half.
        var taps = taps_at(plane.coefficients);
        var v: array<i32, 4>;
        if exists && first < end {
            var a = window_row(above_row(max(first, 2u) - 2u, above_start, rows, side_log2));
            var b = window_row(above_row(max(first, 1u) - 1u, above_start, rows, side_log2));
            var c = window_row(above_row(first, above_start, rows, side_log2));
            var d = window_row(above_row(first + 1u, above_start, rows, side_log2));
            for (var i = 0u; i < QUADS; i++) {
                let y = first + i;
                let e = window_row(above_row(y + 2u, above_start, rows, side_log2));
                if y < end {
                    let mean = c.left.z;
                    let at = means_at + ((2u * (y - v_start)) << side_log2) + x;
                    if y < v_rows {
                        let sum = window_sum(plane, taps, 0u, a, b, c, d, e, 0);
                        let r = predicted(plane, plane.step_v, sum, symbol_at(chunk, 0u, y, x),
                            near_[i].x, plane.near_v, far_[i].x, plane.far_v);
                        let below = mean - ((r.value + 1) >> 1u);
                        room[at] = below + r.value;
                        room[at + side] = below;
                        v[i] = r.residual;
                    } else {
                        room[at] = mean;
                    }
                }
                a = b;
                b = c;
                c = d;
                d = e;
            }
        }
        if outside {
            let y = outside_row;
            let a = window_row(above_row(max(y, 2u) - 2u, above_start, rows, side_log2));
            let b = window_row(above_row(max(y, 1u) - 1u, above_start, rows, side_log2));
            let c = window_row(above_row(y, above_start, rows, side_log2));
            let d = window_row(above_row(y + 1u, above_start, rows, side_log2));
            let e = window_row(above_row(y + 2u, above_start, rows, side_log2));
            let at = means_at + ((2u * (y - v_start)) << side_log2) + x;
            if y < v_rows {
                let sum = window_sum(plane, taps, 0u, a, b, c, d, e, 0);
                let r = predicted(plane, plane.step_v, sum, symbol_at(chunk, 0u, y, x),
                    near_outside, plane.near_v, far_outside, plane.far_v);
                let below = c.left.z - ((r.value + 1) >> 1u);
                room[at] = below + r.value;
                room[at + side] = below;
                far_outside = near_outside;
                near_outside = r.residual;
            } else {
                room[at] = c.left.z;
                far_outside = near_outside;
                near_outside = 0;
            }
        }
        workgroupBarrier();

        // The samples of each row mean.
        taps = taps_at(plane.coefficients + plane.band_stride);
        let taps1 = taps_at(plane.coefficients + 2u * plane.band_stride);
        // Row means of the tile run to this one.
        let last_mean = rows + v_rows - 1u;
        if exists && first < end {
            let y2 = 2u * first;
            var a = window_row(mean_row(max(y2, 2u) - 2u, means_at, v_start, last_mean, side_log2));
            var b = window_row(mean_row(max(y2, 1u) - 1u, means_at, v_start, last_mean, side_log2));
            var c = window_row(mean_row(y2, means_at, v_start, last_mean, side_log2));
            var d = window_row(mean_row(y2 + 1u, means_at, v_start, last_mean, side_log2));
            for (var i = 0u; i < QUADS; i++) {
                let y = first + i;
                let e = window_row(mean_row(2u * y + 2u, means_at, v_start, last_mean, side_log2));
                let f = window_row(mean_row(2u * y + 3u, means_at, v_start, last_mean, side_log2));
                if y < end {
                    var quad = vec4<i32>(c.left.z, 0, d.left.z, 0);
                    var residuals = vec3<i32>(v[i], 0, 0);
                    if x < h_columns {
                        let sum0 = window_sum(plane, taps, 1u, a, b, c, d, e, 0);
                        let r0 = predicted(plane, plane.step_h0, sum0, symbol_at(chunk, 1u, y, x),
                            near_[i].y, plane.near_h0, far_[i].y, plane.far_h0);
                        quad.y = c.left.z - (r0.value >> 1u);
                        quad.x = quad.y + r0.value;
                        residuals.y = r0.residual;
                        if y < v_rows {
                            let sum1 = window_sum(plane, taps1, 2u, b, c, d, e, f, r0.value);
                            let r1 = predicted(plane, plane.step_h1, sum1, symbol_at(chunk, 2u, y, x),
                                near_[i].z, plane.near_h1, far_[i].z, plane.far_h1);
                            quad.w = d.left.z - (r1.value >> 1u);
                            quad.z = quad.w + r1.value;
                            residuals.z = r1.residual;
                        }
                    }
                    far_[i] = near_[i];
                    near_[i] = residuals;
                    emit(block, p, i, quad, x, y, x < h_columns, y < v_rows);
                }
                a = c;
                b = d;
                c = e;
                d = f;
            }
        }
    }
    if exists {
        finish(block, x, first, end, h_columns, v_rows);
    }
}

// Where in `room` a row of the level above starts; below the tile its last row repeats.
fn above_row(y: u32, above_start: u32, rows: u32, side_log2: u32) -> u32 {
    return (min(y, rows - 1u) - above_start) << side_log2;
}

// The same for row means. The last one may be of a quad without a lower half.
fn mean_row(y: u32, means_at: u32, v_start: u32, last: u32, side_log2: u32) -> u32 {
    return means_at + ((min(y, last) - 2u * v_start) << side_log2);
}
