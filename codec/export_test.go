package codec

import "github.com/gallop-http/gallop/internal/bufpool"

// RaceEnabled is whether this is a race build, which allocates more.
const RaceEnabled = bufpool.Poisons
