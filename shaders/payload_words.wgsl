// The compressed bytes, two words of 16 bits to one of 32.

@group(0) @binding(0) var<storage, read> payload: array<u32>;

fn word_at(at: u32) -> u32 {
    return (payload[at >> 1u] >> ((at & 1u) << 4u)) & 0xffffu;
}
