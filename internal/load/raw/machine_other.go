//go:build !unix

package raw

import "time"

// raiseDescriptors returns need, because there is no limit on open files.
func raiseDescriptors(need int) int { return need }

// processCPU returns 0, because it is only known on Unix.
func processCPU() time.Duration { return 0 }
