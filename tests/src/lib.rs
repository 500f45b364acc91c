//! End-to-end tests live in `e2e/`, one file a promise. Here the README's code is compiled.
#![cfg_attr(doctest, doc = include_str!("../../README.md"))]
