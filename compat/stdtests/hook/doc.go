// Package hook replaces net/http's server or transport with gallop, in a program that is built with the overlay of
// ../rewrite and the build tag overlaid. Two environment variables control it:
//
//	STDTESTS_SIDE   server or client: the side that uses gallop; neither by default
//	STDTESTS_USED   a file that is created when that side is used
package hook
