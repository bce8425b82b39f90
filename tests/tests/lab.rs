//! The lab finds what is wrong with a job, and passes the jobs that are right.

#[path = "../lab/outside.rs"]
mod outside;
#[path = "../lab/shop.rs"]
mod shop;
#[path = "../lab/trouble.rs"]
mod trouble;
#[path = "../lab/wrong.rs"]
mod wrong;
