//! The `stepwell` program, run as a user runs it.
