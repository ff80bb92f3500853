package rest

// RaceEnabled is whether this is a race build.
const RaceEnabled = poisons
