// How lanes of a chunk learn of each other with workgroup memory and a barrier. Part of entropy.wgsl.

// Masks of the lanes that need a first and a second word: three steps by turns, for each 32 invocations.
var<workgroup> needs: array<atomic<u32>, 12>;
// Context magnitudes, three steps by turns.
var<workgroup> shared_seen: array<u32, 192>;

var<private> invocation_: u32;
// The lanes of the chunk among the 32 of a mask, and those of them before this one.
var<private> chunk_mask: u32;
var<private> before_mask: u32;
var<private> needs_start: u32;

fn start_exchange(invocation: u32, lane: u32, lanes_log2: u32) {
    invocation_ = invocation;
    let first = (invocation & 31u) - lane;
    chunk_mask = extractBits(0xffffffffu, 0u, 1u << lanes_log2) << first;
    before_mask = ((1u << lane) - 1u) << first;
    needs_start = (invocation >> 5u) * 6u;
    if invocation < 12u {
        atomicStore(&needs[invocation], 0u);
    }
}

// Shares `seen` and which words this lane needs; gives how many the lanes before it take, and moves `next` on.
fn exchange(first: bool, second: bool, turn: u32, whole: bool) -> u32 {
    let bit = 1u << (invocation_ & 31u);
    let at = needs_start + 2u * turn;
    if first {
        atomicOr(&needs[at], bit);
    }
    if second {
        atomicOr(&needs[at + 1u], bit);
    }
    shared_seen[turn * 64u + invocation_] = seen;
    workgroupBarrier();
    let firsts = atomicLoad(&needs[at]);
    let seconds = atomicLoad(&needs[at + 1u]);
    // Read two steps ago for the last time, written in the step after the next.
    if (invocation_ & 31u) < 2u {
        atomicStore(&needs[needs_start + 2u * ((turn + 2u) % 3u) + (invocation_ & 31u)], 0u);
    }
    let ours = select(chunk_mask, 0xffffffffu, whole);
    next += countOneBits(firsts & ours) + countOneBits(seconds & ours);
    return countOneBits(firsts & before_mask) + countOneBits(seconds & before_mask);
}

// What the neighbours shared in that turn (anything at the ends).
fn right_neighbour(own: u32, turn: u32) -> u32 {
    return shared_seen[turn * 64u + min(invocation_ + 1u, 63u)];
}

fn left_neighbour(own: u32, turn: u32) -> u32 {
    return shared_seen[turn * 64u + max(invocation_, 1u) - 1u];
}
