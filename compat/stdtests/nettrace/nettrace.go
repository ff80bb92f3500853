//go:build overlaid

package nettrace

import "net"

// LookupIPAltResolverKey is a key of a context.
type LookupIPAltResolverKey = net.HookedResolverKey
