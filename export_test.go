package gallop

// RaceEnabled tells the tests outside the package whether the race detector runs.
const RaceEnabled = raceEnabled
