//go:build unix && !aix && !linux && (!darwin || ios) && !dragonfly && !freebsd && !solaris

package poll

const canSendFile = false
