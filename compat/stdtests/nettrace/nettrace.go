//go:build overlaid

package nettrace

import "net"

// LookupIPAltResolverKey is a context key.
type LookupIPAltResolverKey = net.HookedResolverKey
