package fasthttp

import "github.com/gallop-http/gallop"

// Default limits and values of settings. See package gallop.
const (
	DefaultMaxConnsPerHost           = gallop.DefaultMaxConnsPerHost
	DefaultMaxIdleConnDuration       = gallop.DefaultMaxIdleConnDuration
	DefaultMaxIdemponentCallAttempts = gallop.DefaultMaxIdemponentCallAttempts
	FIFO                             = gallop.FIFO
	LIFO                             = gallop.LIFO
	DefaultMaxPendingRequests        = gallop.DefaultMaxPendingRequests
	FSCompressedFileSuffix           = gallop.FSCompressedFileSuffix
	FSHandlerCacheDuration           = gallop.FSHandlerCacheDuration
	DefaultLBClientTimeout           = gallop.DefaultLBClientTimeout
	DefaultConcurrency               = gallop.DefaultConcurrency
	DefaultMaxRequestBodySize        = gallop.DefaultMaxRequestBodySize
	DefaultDialTimeout               = gallop.DefaultDialTimeout
	DefaultDNSCacheDuration          = gallop.DefaultDNSCacheDuration
)

// Compression levels.
const (
	CompressBrotliNoCompression      = gallop.CompressBrotliNoCompression
	CompressBrotliBestSpeed          = gallop.CompressBrotliBestSpeed
	CompressBrotliBestCompression    = gallop.CompressBrotliBestCompression
	CompressBrotliDefaultCompression = gallop.CompressBrotliDefaultCompression
	CompressNoCompression            = gallop.CompressNoCompression
	CompressBestSpeed                = gallop.CompressBestSpeed
	CompressBestCompression          = gallop.CompressBestCompression
	CompressDefaultCompression       = gallop.CompressDefaultCompression
	CompressHuffmanOnly              = gallop.CompressHuffmanOnly
	CompressZstdSpeedNotSet          = gallop.CompressZstdSpeedNotSet
	CompressZstdBestSpeed            = gallop.CompressZstdBestSpeed
	CompressZstdDefault              = gallop.CompressZstdDefault
	CompressZstdSpeedBetter          = gallop.CompressZstdSpeedBetter
	CompressZstdBestCompression      = gallop.CompressZstdBestCompression
)

// Values of the SameSite attribute of a cookie.
const (
	CookieSameSiteDisabled    = gallop.CookieSameSiteDisabled
	CookieSameSiteDefaultMode = gallop.CookieSameSiteDefaultMode
	CookieSameSiteLaxMode     = gallop.CookieSameSiteLaxMode
	CookieSameSiteStrictMode  = gallop.CookieSameSiteStrictMode
	CookieSameSiteNoneMode    = gallop.CookieSameSiteNoneMode
)

// Values of ConnState.
const (
	StateNew      = gallop.StateNew
	StateActive   = gallop.StateActive
	StateIdle     = gallop.StateIdle
	StateHijacked = gallop.StateHijacked
	StateClosed   = gallop.StateClosed
)
