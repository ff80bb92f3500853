// Package hook puts gallop in the place of net/http's server, or of its transport, in a program that is built with the overlay of
// ../rewrite and the build tag overlaid. Two environment variables say what it does:
//
//	STDTESTS_SIDE   server or client: the side that is gallop's. By default neither is
//	STDTESTS_USED   a file that is created when that side is used
package hook
