// Entropy stage for every kind of tile: chunks → symbols, a word each. CPU twin: `entropy/cpu.rs`.
//
// One workgroup decodes one chunk, a lane each invocation. Slower than `entropy.wgsl`, which takes what most tiles are:
// this one takes wide and deep ones, and those whose lanes are many or have many columns.
// Dispatch: x + y * num_workgroups.x = index into the `range` of `work`.
// Invariant: every word index is clamped to the chunk, every other index follows from the tile's shape.

@group(0) @binding(1) var<storage, read> chunks: array<Chunk>;
@group(0) @binding(2) var<storage, read> models: array<Model>;
// Alias entries as in `entropy.wgsl`, then from `WEIGHTS_START` on context weights (in x).
@group(0) @binding(3) var<storage, read> tables: array<vec4<u32>>;
// Indices of chunks.
@group(0) @binding(4) var<storage, read> work: array<u32>;
@group(0) @binding(5) var<storage, read_write> wide: array<i32>;
@group(0) @binding(6) var<storage, read_write> faults: array<atomic<u32>>;
@group(0) @binding(8) var<uniform> range: Range;

const LANES: u32 = 64u;
const COLUMNS: u32 = 128u;
const DEFERRED_SIGNS: u32 = 16u;
const MAGNITUDE_CAP: u32 = 0xfffffu;
const NARROW_LIMIT: u32 = 0x7fffu;
const ESCAPE_BASE: u32 = 3072u;

// Context magnitudes: by band, the current row and the two above it by turns.
var<workgroup> magnitudes: array<u32, 1152>;
// Words that each lane takes, as bits 0, 1, 2 of the number; lanes 0 to 31, then 32 to 63. Three steps by turns.
var<workgroup> votes: array<atomic<u32>, 18>;

fn row_start(band: u32, row: u32) -> u32 {
    return (band * 3u + row % 3u) * COLUMNS;
}

fn magnitude_at(band: u32, row: u32, column: u32, deep: u32) -> u32 {
    let m = magnitudes[row_start(band, row) + column];
    return select(min(m, MAGNITUDE_CAP), m >> 12u, deep == 1u);
}

fn context_sum(context_set: u32, band: u32, row: u32, column: u32, columns: u32, deep: u32) -> u32 {
    let odd = column & 1u;
    let weights = WEIGHTS_START + (((context_set * 3u + band) * 2u + odd) * 2u + select(0u, 1u, row == 0u)) * 9u;
    let left = max(column, 1u) - 1u;
    let right = min(column + 1u, columns - 1u);
    var sum = tables[weights].x;
    if row > 0u {
        let above = row - 1u;
        sum += tables[weights + 1u].x * magnitude_at(band, above, column, deep);
        sum += tables[weights + 2u].x * (magnitude_at(band, above, left, deep) + magnitude_at(band, above, right, deep));
        sum += tables[weights + 3u].x * magnitude_at(band, max(row, 2u) - 2u, column, deep);
        sum += tables[weights + 8u].x * (magnitude_at((band + 1u) % 3u, above, column, deep)
            + magnitude_at((band + 2u) % 3u, above, column, deep));
    }
    if odd == 1u {
        // The last column has no right neighbour yet, and so counts its left one twice.
        let east = select(left, right, column < right);
        sum += tables[weights + 4u].x * (magnitude_at(band, row, left, deep) + magnitude_at(band, row, east, deep));
    }
    for (var before = 0u; before < band; before++) {
        sum += tables[weights + 5u + before].x * magnitude_at(before, row, column, deep);
        sum += tables[weights + 7u].x * (magnitude_at(before, row, left, deep) + magnitude_at(before, row, right, deep));
    }
    return sum;
}

fn half_octaves(sum: u32) -> u32 {
    let v = max(sum, 2u);
    let exponent = firstLeadingBit(v);
    return 2u * exponent + ((v >> (exponent - 1u)) & 1u);
}

fn bucket_at(model: u32, band: u32, row: u32, column: u32, columns: u32) -> u32 {
    let context_set = models[model].context_set;
    if models[model].deep == 1u {
        let high = context_sum(context_set, band, row, column, columns, 1u);
        if high >= 0x80000u {
            return half_octaves(high) + 18u;
        }
    }
    return max(half_octaves(context_sum(context_set, band, row, column, columns, 0u)), 6u) - 6u;
}

// The columns of a lane in coding order: even ones in bit-reversed order, then odd ones.
fn phase_column(phase: u32, per_lane: u32) -> u32 {
    let half = per_lane >> 1u;
    if phase >= half {
        return 2u * (phase - half) + 1u;
    }
    return reverseBits(phase) >> (32u - firstLeadingBit(per_lane));
}

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let place = group.x + group.y * groups.x;
    if place >= range.count {
        return;
    }
    let chunk = chunks[work[range.first + place]];
    let columns = chunk.shape & 255u;
    let rows = (chunk.shape >> 8u) & 255u;
    let h_columns = (chunk.shape >> 16u) & 255u;
    let v_rows = chunk.shape >> 24u;
    let per_lane = chunk.kind & COLUMNS_PER_LANE;
    let lanes = (columns + per_lane - 1u) / per_lane;
    let start = lane_start(chunk, lane, lanes);
    let last = chunk.first_word + chunk.words - 1u;
    let is_wide = models[chunk.model].wide == 1u;
    let live = start.state != 0u;
    var state = start.state;
    var next = start.used;
    var nonzero = 0u;
    var largest = 0u;
    let lane_bit = 1u << (lane & 31u);
    let below = vec2<u32>(select(lane_bit - 1u, 0xffffffffu, lane >= 32u), select(0u, lane_bit - 1u, lane >= 32u));
    if lane < 18u {
        atomicStore(&votes[lane], 0u);
    }
    workgroupBarrier();
    var turn = 0u;
    for (var row = 0u; row < rows; row++) {
        for (var band = 0u; band < 3u; band++) {
            for (var i = 0u; i < per_lane; i++) {
                let column = lane * per_lane + i;
                if column < columns {
                    magnitudes[row_start(band, row) + column] = 0u;
                }
            }
        }
        for (var band = 0u; band < 3u; band++) {
            let band_columns = select(0u, select(h_columns, columns, band == 0u), band == 1u || row < v_rows);
            for (var phase = 0u; phase < per_lane; phase++) {
                let column = lane * per_lane + phase_column(phase, per_lane);
                let coding = live && column < band_columns;
                var shift = 0u;
                var base = 0u;
                var mantissa_bits = 0u;
                var bits = 0u;
                var negative = false;
                var sign_raw = false;
                var needs = 0u;
                let deferring = nonzero < DEFERRED_SIGNS;
                if coding {
                    let bucket = bucket_at(chunk.model, band, row, column, columns);
                    shift = select(0u, (bucket - 20u) >> 1u, bucket >= 22u);
                    let half_octaves = 6u + select(bucket, 20u + (bucket & 1u), bucket >= 22u);
                    let model_row = models[chunk.model].rows[band * MODEL_ROWS + half_octaves];
                    let slot = state & 0x3fffu;
                    let within = slot & 511u;
                    let entry = tables[model_row.x + (slot >> 9u)];
                    let own = within < entry.x;
                    let token = select(entry.z, entry.y, own);
                    base = token >> 20u;
                    mantissa_bits = (token >> 16u) & 15u;
                    var frequency = token & 0x7fffu;
                    var offset = within + select(entry.w, 0u, own);
                    let split = !deferring && shift == 0u && (base == 1u || base == 2u);
                    if split {
                        let positive = extractBits(model_row.y, 15u * (base - 1u), 15u);
                        negative = offset >= positive;
                        frequency = select(positive, frequency - positive, negative);
                        offset -= select(0u, positive, negative);
                    }
                    state = frequency * (state >> 14u) + offset;
                    sign_raw = !deferring && !split && (base > 0u || shift > 0u);
                    let width = mantissa_bits + shift;
                    if base == ESCAPE_BASE {
                        mantissa_bits = select(15u - min(shift, 15u), 32u, is_wide);
                    }
                    bits = mantissa_bits + shift + select(0u, 1u, sign_raw);
                    // Known before any word is read, and shared by the same barrier. Whatever does not fit 31 bits is cut off.
                    let middle = min((base << shift) + ((1u << width) >> 1u), 0x7fffffffu);
                    magnitudes[row_start(band, row) + column] =
                        select(0x7fffffffu, middle, countLeadingZeros(base) > shift);
                    // Sixteen raw bits at a time each take a word. What is left takes one if the state's upper half,
                    // which those words do not touch, ends up empty.
                    let refill = state < 0x10000u;
                    let high = select(state >> 16u, state, refill);
                    let rest = bits & 15u;
                    needs = select(0u, 1u, refill) + (bits >> 4u) + select(0u, 1u, rest > 0u && (high >> rest) == 0u);
                }
                for (var i = 0u; i < 3u; i++) {
                    if ((needs >> i) & 1u) == 1u {
                        atomicOr(&votes[turn * 6u + i * 2u + (lane >> 5u)], lane_bit);
                    }
                }
                workgroupBarrier();
                var at = next;
                for (var i = 0u; i < 3u; i++) {
                    let vote = turn * 6u + i * 2u;
                    let all = vec2<u32>(atomicLoad(&votes[vote]), atomicLoad(&votes[vote + 1u]));
                    let before = countOneBits(all & below);
                    let total = countOneBits(all);
                    at += (before.x + before.y) << i;
                    next += (total.x + total.y) << i;
                }
                // Read two steps ago for the last time, written in the step after the next.
                if lane < 6u {
                    atomicStore(&votes[((turn + 2u) % 3u) * 6u + lane], 0u);
                }
                turn = (turn + 1u) % 3u;
                if coding {
                    if state < 0x10000u {
                        state = (state << 16u) | payload_word(chunk.first_word + at, last);
                        at++;
                    }
                    // At most 50 raw bits: the lowest 32 and the rest.
                    var raw = vec2<u32>(0u);
                    for (var got = 0u; got < bits; got += 16u) {
                        let count = min(bits - got, 16u);
                        let taken = extractBits(state, 0u, count);
                        if got < 32u {
                            raw.x |= taken << got;
                        } else {
                            raw.y |= taken << (got - 32u);
                        }
                        state >>= count;
                        if state < 0x10000u {
                            state = (state << 16u) | payload_word(chunk.first_word + at, last);
                            at++;
                        }
                    }
                    let mantissa = select(extractBits(raw.x, 0u, mantissa_bits), raw.x, mantissa_bits == 32u);
                    let low = extractBits(extract_at(raw, mantissa_bits), 0u, shift);
                    let magnitude = ((base + mantissa) << shift) | low;
                    negative = negative || (sign_raw && (extract_at(raw, bits - 1u) & 1u) == 1u);
                    largest |= magnitude;
                    if deferring && magnitude != 0u {
                        nonzero++;
                    }
                    wide[chunk.symbols + (row * 3u + band) * columns + column] =
                        select(bitcast<i32>(magnitude), -bitcast<i32>(magnitude), negative);
                } else if column < columns {
                    wide[chunk.symbols + (row * 3u + band) * columns + column] = 0;
                }
            }
        }
    }
    let broken = !start.alive || next != chunk.words || (!is_wide && largest > NARROW_LIMIT)
        || (live && (state >> 16u) != 1u);
    if broken {
        atomicMin(&faults[chunk.image], chunk.ordinal);
    }
    // What is left in the state are the signs of the lane's first non-zero values, the first in the lowest bit.
    for (var row = 0u; row < rows && nonzero > 0u; row++) {
        for (var i = 0u; i < 3u * per_lane && nonzero > 0u; i++) {
            let column = lane * per_lane + phase_column(i % per_lane, per_lane);
            if column < columns {
                let at = chunk.symbols + (row * 3u + i / per_lane) * columns + column;
                if wide[at] != 0 {
                    if (state & 1u) == 1u {
                        wide[at] = -wide[at];
                    }
                    state >>= 1u;
                    nonzero--;
                }
            }
        }
    }
}

// Bits of a 64-bit number from `at` (at most 63) on.
fn extract_at(v: vec2<u32>, at: u32) -> u32 {
    let low = select(v.x >> at, v.y >> (at - 32u), at >= 32u);
    // A shift by 32 would be one by 0.
    return low | select(0u, (v.y << 1u) << (31u - at), at < 32u);
}
