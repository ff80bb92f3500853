//go:build !unix

package collect

import "time"

// processorTime returns 0: the processor time is unknown here.
func processorTime() time.Duration { return 0 }

// maxMemory returns 0: the memory is unknown here.
func maxMemory() int64 { return 0 }
