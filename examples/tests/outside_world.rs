//! Runs the tests that the shop's gateway and mail sink carry: what the shop
//! proves rests on how these two count.

#![allow(dead_code, unused_imports)] // the shop uses the rest

#[path = "../shop/gateway/mod.rs"]
mod gateway;
#[path = "../shop/mail/mod.rs"]
mod mail;
#[path = "../shop/pipe.rs"]
mod pipe;
