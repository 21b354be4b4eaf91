//! Embedded countries, regions, places, postcodes and the three-word grid: a library without actix or diesel.
//!
//! Empty as yet: the data of `shared/geodata` and what reads it come with the places of the system service.
