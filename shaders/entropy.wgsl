// Entropy stage: chunks → symbols, two a word. CPU twin: `entropy/cpu.rs`.
//
// For chunks whose lanes have two columns (at most 32 lanes) or four (at most 8), and whose values fit 16 bits: nearly
// all there are. A workgroup of 64 takes two of the former or eight of the latter. What a lane has decoded of the row
// above stays in its registers; only its neighbours' nearest columns and the words they need are exchanged, with one
// barrier a symbol (`exchange`, in entropy_portable.wgsl or entropy_subgroup.wgsl).
// Dispatch: x + y * num_workgroups.x = index of a group in the `range` of `work`.
// Invariant: `next` stops behind the chunk, and no step looks further than 64 words behind it, which the payload's buffer
// has to spare; every other index follows from the tile's shape.

@group(0) @binding(0) var<storage, read> payload: array<u32>;
@group(0) @binding(1) var<storage, read> chunks: array<Chunk>;
@group(0) @binding(2) var<storage, read> models: array<Model>;
@group(0) @binding(3) var<storage, read> tables: array<vec2<u32>>;
// Groups of `GROUP_WORDS`: what the chunks have in head, then their indices or `NOTHING`.
@group(0) @binding(4) var<storage, read> work: array<u32>;
@group(0) @binding(5) var<storage, read_write> narrow: array<u32>;
@group(0) @binding(6) var<storage, read_write> faults: array<atomic<u32>>;
@group(0) @binding(8) var<uniform> range: Range;

const DEFERRED_SIGNS: u32 = 16u;
const NARROW_LIMIT: u32 = 0x7fffu;
const ESCAPE: u32 = 31u;
// Rows of three bands.
const MODEL_SIZE: u32 = 72u;

// Of up to eight chunks: where distributions start, and slots that mean "+".
var<workgroup> alias_start: array<u32, 576>;
var<workgroup> positive: array<u32, 576>;

// The lane.
var<private> state: u32;
var<private> nonzero: u32;
var<private> largest: u32;
// The next word that any lane of the chunk takes, and the second behind its last, where it stops: one too far.
var<private> next: u32;
var<private> stop: u32;
// Where the chunk's rows stand in `alias_start` and `positive`.
var<private> model_start: u32;
// The context magnitude of what was decoded last.
var<private> seen: u32;

// One symbol of each lane; 0 where `coding` is false. `turn` counts 0, 1, 2, 0, ... from step to step.
fn step(coding: bool, sum: u32, band: u32, turn: u32) -> i32 {
    // Half octaves of the sum through the exponent of a float. Clearing bits that lie eight or more below set ones keeps
    // the conversion from rounding up to the next one.
    let v = max(sum, 2u);
    let bucket = max(bitcast<u32>(f32(v & ~(v >> 8u))) >> 22u, 260u) - 260u;
    let high = bucket >= 22u;
    let shift = select(0u, (bucket - 20u) >> 1u, high);
    let row = model_start + band * MODEL_ROWS + select(bucket, 20u + (bucket & 1u), high);

    let index = (state >> 9u) & 31u;
    let within = state & 511u;
    let entry = tables[alias_start[row] + index];
    let own = within < (entry.x >> 20u);
    let symbol = select((entry.x >> 15u) & 31u, index, own);
    var frequency = select(entry.y & 0xffffu, entry.x & 0x7fffu, own);
    var offset = within + select(bitcast<u32>(bitcast<i32>(entry.y) >> 16u), 0u, own);

    let with_sign = nonzero >= DEFERRED_SIGNS;
    let split = with_sign && !high && (symbol - 1u) < 2u;
    let pluses = positive[row];
    let plus = select(pluses & 0xffffu, pluses >> 16u, symbol == 2u);
    let minus = split && offset >= plus;
    frequency = select(frequency, select(plus, frequency - plus, minus), split);
    offset -= select(0u, plus, minus);
    let coded = frequency * (state >> 14u) + offset;

    let large = symbol >= 16u;
    let width = select(0u, (symbol >> 1u) - 5u, large);
    let base = select(symbol, (2u | (symbol & 1u)) << width, large);
    let mantissa_bits = select(width, 15u - min(shift, 15u), symbol == ESCAPE);
    let sign_raw = with_sign && !split && (symbol > 0u || shift > 0u);
    let sign_at = mantissa_bits + shift;
    let bits = sign_at + select(0u, 1u, sign_raw);
    // Which words are needed does not depend on words still to come: one exchange a symbol is enough.
    let refill = coded < 0x10000u;
    let first = coding && refill;
    let second = coding && bits > 0u && (coded >> bits) < select(0x10000u, 1u, refill);
    seen = select(0u, (base << shift) + ((1u << (width + shift)) >> 1u), coding);

    var at = next;
    at += exchange(first, second, turn);
    next = min(next, stop);
    var after = coded;
    if first {
        after = (after << 16u) | word_at(at);
        at++;
    }
    let raw = extractBits(after, 0u, bits);
    after >>= bits;
    if second {
        after = (after << 16u) | word_at(at);
    }
    state = select(state, after, coding);

    let low = extractBits(raw >> mantissa_bits, 0u, shift);
    let magnitude = select(0u, ((base + extractBits(raw, 0u, mantissa_bits)) << shift) | low, coding);
    largest |= magnitude;
    let negative = minus || (sign_raw && ((raw >> sign_at) & 1u) == 1u);
    nonzero += select(0u, 1u, !with_sign && magnitude > 0u);
    return select(bitcast<i32>(magnitude), -bitcast<i32>(magnitude), negative);
}

alias Weights = array<array<array<array<u32, 9>, 2>, 2>, 3>;

// The weighted sum that chooses a symbol's bucket: `context_sum` of entropy_any.wgsl.
fn weigh(
    w: array<array<u32, 9>, 2>, first_row: bool,
    north: u32, beside_north: u32, north2: u32, others_north: u32,
    beside: u32, v: u32, h0: u32, beside_before: u32,
) -> u32 {
    return select(w[0][0], w[1][0], first_row)
        + w[0][1] * north + w[0][2] * beside_north + w[0][3] * north2 + w[0][8] * others_north
        + select(w[0][4], w[1][4], first_row) * beside
        + select(w[0][5], w[1][5], first_row) * v
        + select(w[0][6], w[1][6], first_row) * h0
        + select(w[0][7], w[1][7], first_row) * beside_before;
}

fn two_in_one(even: i32, odd: i32) -> u32 {
    return (bitcast<u32>(even) & 0xffffu) | (bitcast<u32>(odd) << 16u);
}
