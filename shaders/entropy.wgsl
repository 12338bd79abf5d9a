// Entropy stage: chunks → symbols, two a word. CPU twin: `entropy/cpu.rs`.
//
// For chunks whose lanes have two columns (at most 32 lanes) or four (at most 8), and whose values fit 16 bits: nearly
// all there are. A workgroup of 64 takes two of the former or eight of the latter. What a lane has decoded of the row
// above stays in its registers; only its neighbours' nearest columns and the words they need are exchanged, with one
// barrier a symbol (`exchange`, in entropy_portable.wgsl or entropy_subgroup.wgsl).
// Dispatch: x + y * num_workgroups.x = index of a group in the `range` of `work`.
// Invariant: at the start of a row `next` stops one word behind the chunk, and a row takes no more than 384 words, which the
// payload's buffer has to spare behind its end; every other index follows from the tile's shape.

@group(0) @binding(1) var<storage, read> chunks: array<Chunk>;
@group(0) @binding(2) var<storage, read> models: array<Model>;
// Alias entries: the bucket's own slots; the frequency, mantissa bits << 16 and base << 20 of the token they belong to,
// the same of the token that has the others, and what is added to their offsets.
@group(0) @binding(3) var<storage, read> tables: array<vec4<u32>>;
// Groups of `GROUP_WORDS`: what the chunks have in head, then their indices or `NOTHING`.
@group(0) @binding(4) var<storage, read> work: array<u32>;
@group(0) @binding(5) var<storage, read_write> narrow: array<u32>;
@group(0) @binding(6) var<storage, read_write> faults: array<atomic<u32>>;
@group(0) @binding(8) var<uniform> range: Range;

const DEFERRED_SIGNS: u32 = 16u;
const NARROW_LIMIT: u32 = 0x7fffu;
const ESCAPE_BASE: u32 = 3072u;
// Of the float of a sum: half octaves from here on are shifted.
const SHIFTED_FROM: u32 = (254u + 28u) << 22u;

// The lane.
var<private> state: u32;
var<private> nonzero: u32;
var<private> largest: u32;
// The next word that any lane of the chunk takes, and the second behind its last, where it stops: one too far.
var<private> next: u32;
var<private> stop: u32;
// Index of the chunk's model. (Its rows and the distributions stay where they are: workgroup memory would take the room of
// the cache that holds them.)
var<private> model: u32;
// The context magnitude of what was decoded last.
var<private> seen: u32;

// The lowest `count` bits, at most 31.
fn mask(count: u32) -> u32 {
    return ~(0xffffffffu << count);
}

// One symbol of each lane; 0 where `coding` is false. `turn` counts 0, 1, 2, 0, ... from step to step; `whole` says that
// the chunk has all 32 lanes of a mask.
fn step(coding: bool, sum: u32, band: u32, turn: u32, whole: bool) -> i32 {
    // Half octaves of the sum through the exponent of a float, which is exact: sums stay below 2^24 as long as nothing is
    // broken. (They are at least 2; that of 1 leads to a distribution which has nothing but zeros and leaves the state as
    // it is.)
    let half_octaves = bitcast<u32>(f32(select(1u, sum, coding)));
    let row = models[model].rows[band * MODEL_ROWS + (half_octaves >> 22u) - 254u];
    let within = state & 511u;
    let entry = tables[row.x + ((state >> 9u) & 31u)];
    let own = within < entry.x;
    let token = select(entry.z, entry.y, own);
    var offset = within + select(entry.w, 0u, own);
    var frequency = token & 0x7fffu;
    let width = (token >> 16u) & 15u;
    let base = token >> 20u;

    let shifted = half_octaves >= SHIFTED_FROM;
    let with_sign = nonzero >= DEFERRED_SIGNS;
    let split = with_sign && !shifted && (base - 1u) < 2u;
    let plus = (row.y >> (15u * (base - 1u))) & 0x7fffu;
    let minus = split && offset >= plus;
    frequency = select(frequency, select(plus, frequency - plus, minus), split);
    offset -= select(0u, plus, minus);
    let coded = frequency * (state >> 14u) + offset;

    // Rare are buckets whose symbols are shifted, and values beyond the tokens.
    let rare = shifted || base == ESCAPE_BASE;
    var shift = 0u;
    var mantissa_bits = width;
    var sign_raw = with_sign && !split && base > 0u;
    var around = base + ((1u << width) >> 1u);
    if rare {
        shift = select(0u, ((half_octaves >> 22u) - 280u) >> 1u, shifted);
        mantissa_bits = select(width, 15u - min(shift, 15u), base == ESCAPE_BASE);
        sign_raw = with_sign && !split && (base > 0u || shift > 0u);
        around = (base << shift) + ((1u << (width + shift)) >> 1u);
    }
    let sign_at = mantissa_bits + shift;
    let bits = sign_at + select(0u, 1u, sign_raw);
    // Which words are needed does not depend on words still to come: one exchange a symbol is enough.
    let first = coded < 0x10000u;
    let second = (coded >> bits) < select(0x10000u, 1u, first);
    seen = around;

    var at = next;
    at += exchange(first, second, turn, whole);
    state = coded;
    if first {
        state = (state << 16u) | word_at(at);
        at++;
    }
    let raw = state;
    state >>= bits;
    if second {
        state = (state << 16u) | word_at(at);
    }

    let negative = minus || ((raw >> sign_at) & select(0u, 1u, sign_raw)) != 0u;
    var magnitude = base + (raw & mask(mantissa_bits));
    if rare {
        magnitude = ((base + (raw & mask(mantissa_bits))) << shift) | ((raw >> mantissa_bits) & mask(shift));
        largest |= magnitude;
    }
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
    if first_row {
        return w[1][0] + w[1][4] * beside + w[1][5] * v + w[1][6] * h0 + w[1][7] * beside_before;
    }
    return w[0][0] + w[0][1] * north + w[0][2] * beside_north + w[0][3] * north2 + w[0][8] * others_north
        + w[0][4] * beside + w[0][5] * v + w[0][6] * h0 + w[0][7] * beside_before;
}

fn two_in_one(even: i32, odd: i32) -> u32 {
    return (bitcast<u32>(even) & 0xffffu) | (bitcast<u32>(odd) << 16u);
}
