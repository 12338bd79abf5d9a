// The compressed bytes as the words of 16 bits that they are: for native use, since browsers have no `u16`.

@group(0) @binding(0) var<storage, read> payload: array<u16>;

fn word_at(at: u32) -> u32 {
    return u32(payload[at]);
}
