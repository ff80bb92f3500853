package gallop

import (
	"io/fs"
	"time"

	"github.com/gallop-http/gallop/internal/files"
	"github.com/gallop-http/gallop/internal/filetree"
)

// This file has the settings of the file server. The rules that need no request are in internal/files, and files are
// opened by internal/filetree. The other files of its family:
//
//	fs_handler.go  takes a request from its path to a file, an index or a list of files
//	fs_content.go  sends a content, or the parts of it that a request asks for
//	fs_coding.go   chooses the content coding
//	fs_serve.go    sends single files, and files from the cache

// FS serves the files of a directory or of an fs.FS. The zero value serves the files of the working directory, without
// index files, directory listings or compression.
//
// FS serves GET and HEAD requests, and responds to all other methods with 405. Responses have a Last-Modified header
// and an entity tag. FS evaluates the conditions of conditional requests (RFC 9110 §13). If the path of a directory
// lacks the final slash, FS redirects the client to the path with the slash.
//
// FS derives the entity tag from the file's modification time and size. If the modification time is a whole number of
// seconds, the entity tag also depends on the time of the inode's last change (ctime). Because of ctime, two machines
// with the same copy of a file can produce different entity tags. To get the same entity tag on all machines, set the
// ETag header before calling the handler of FS. During the first two seconds after a change of the file, the entity tag
// is weak.
//
// The files of an embed.FS have no modification time. Their entity tag is a hash of the content, so it is strong and the
// same on all machines. FS computes the hash when the file is first requested. Files of another fs.FS without modification
// times have no entity tag, because they may change at any time.
//
// FS serves nothing outside Root. By default, FS looks up ctx.Path(). Use the same path, ctx.Path(), for routing and
// access checks. FS responds with 404 to these paths:
//
//   - a path with an empty segment, which is possible only if PathRewrite is set or path normalizing is turned off
//   - a path with a backslash
//   - on Windows, a path with a drive, a stream such as "a.txt::$DATA", a device such as "nul.txt", or a short name
//     such as "GIT~1"
//
// For a path with a NUL byte, FS responds with 400 (Bad Request).
//
// Like os.Root, FS follows a symlink only if the symlink is relative and its target is within Root. For all other
// symlinks, FS responds with 404. FS also responds with 404 for anything that is neither a regular file nor a
// directory. If the field FS is set, the fs.FS decides which symlinks to follow.
//
// # Sites
//
// The zero value behaves like fasthttp's FS. For a site that a generator or a bundler has built, set NotFoundFile,
// CleanURLs, CacheControl and NoSniff. For a single-page application, also set Fallback.
//
// # The cache
//
// On Linux, macOS and the BSDs, FS caches files from their second request on. FS keeps files of up to 128 KiB in memory,
// and keeps larger files open. All FS of a process together cache at most 64 MiB of content. They keep at most 1024 files
// open, and at most an eighth of the files that the process may open. Each FS caches at most 1024 files.
//
// FS compares a cached file with the disk once per second: see CheckEvery. FS does not cache a file within the first two
// seconds after a change of the file. FS never caches missing files or errors. If the field FS is set, FS caches only the
// files of [os.DirFS], [os.Root.FS] and [embed.FS], and of a directory of an embed.FS that [fs.Sub] returned. To turn the
// cache off, set SkipCache. The files of an embed.FS never change, so FS does not compare them with anything. FS keeps only
// those of up to 128 KiB in memory, and reads larger ones from the program for each request.
//
// If you replace files at runtime, write a new file and rename it. A client that downloads a file while a program
// overwrites the file can get parts of two versions.
//
// Do not copy an FS. Do not change an FS after calling NewRequestHandler.
type FS struct {
	_ noCopy

	// FS is the file system that contains the files, for example an embed.FS. If the field is nil, the files come from
	// the operating system.
	FS fs.FS

	// Root is the directory to serve. If the field FS is set, Root is a directory in the fs.FS, and an empty Root means
	// the whole fs.FS. If the field FS is nil, an empty Root means the working directory (see AllowEmptyRoot). You can
	// replace the directory at runtime: FS keeps Root open, and checks whether another directory has taken its path. How
	// often FS checks this depends on CheckEvery. If the field FS is nil, Root may also be a regular file. If Root is a regular file, FS serves the file at the path "/" and responds with 404 to all other
	// paths.
	Root string

	// AllowEmptyRoot makes FS serve the whole file system of the operating system if Root is empty. On Windows, FS serves
	// the current volume in this case. If Root is empty and AllowEmptyRoot is set, FS follows all symlinks.
	AllowEmptyRoot bool

	// IndexNames are the names of index files, in order of preference. If a request is for a directory, FS serves the
	// first file in IndexNames that the directory contains. FS ignores a name with an empty segment, such as "a//b". By
	// default, FS serves no index files.
	IndexNames []string

	// GenerateIndexPages makes FS respond with a list of files if a directory has no index file. By default, a request
	// for a directory without an index file gets 403 (Forbidden).
	GenerateIndexPages bool

	// HideDotfiles hides files and directories whose names begin with a dot, except ".well-known" (RFC 8615). Requests for
	// hidden files, and for anything in hidden directories, get 404. Directory listings omit hidden files and directories.
	// A symlink is hidden according to its own name, regardless of the name of its target. By default, FS serves dotfiles.
	HideDotfiles bool

	// AcceptByteRange makes FS serve only the byte ranges that the Range header of a request asks for (RFC 9110 §14).
	// If the Range header asks for more than 32 ranges, or for ranges that overlap, FS serves the whole file. By
	// default, FS ignores the Range header.
	AcceptByteRange bool

	// PathRewrite returns the path that FS looks up for a request. By default, FS looks up ctx.Path(). If you set
	// PathRewrite, access checks must use the path that PathRewrite returns.
	PathRewrite PathRewriteFunc

	// PathNotFound builds the response to a request for a file that does not exist. FS sets the status to 404 before it
	// calls PathNotFound. If PathNotFound is nil, the response body is one line of text.
	PathNotFound RequestHandler

	// NotFoundFile is the name of a file below Root, such as "404.html", that FS sends instead of a missing file. The
	// response has status 404 and Cache-Control: no-cache. If NotFoundFile does not exist, FS calls PathNotFound. By
	// default, FS sends no such file.
	NotFoundFile string

	// Fallback is the name of a file below Root, such as "index.html", that FS sends with status 200 instead of a missing
	// file. Set Fallback to serve a single-page application. FS sends Fallback only if the Accept header names text/html
	// and prefers it, and if the last segment of the path has no dot. A missing script or image therefore stays a 404.
	// Responses with Fallback have Cache-Control: no-cache. The response to such a path has Vary: Accept. By default, there is
	// no fallback.
	Fallback string

	// CleanURLs makes FS serve the file about.html for the path "/about", if there is no file about. If there is also a
	// directory about, FS serves about.html for "/about", and the directory for "/about/". By default, FS serves
	// about.html only for "/about.html".
	CleanURLs bool

	// RedirectHTML makes FS redirect "/about.html" to "/about" with status 301, unless there is also a file about. FS
	// redirects "/docs/index.html" to "/docs/" if index.html is the first of IndexNames. The redirect is relative, and
	// keeps the query. RedirectHTML works only together with CleanURLs.
	RedirectHTML bool

	// CacheControl sets the Cache-Control header of responses with a file. The first rule that matches the file applies.
	// If no rule matches, or if the response already has a Cache-Control header, FS does not change the header. By default,
	// there are no rules.
	CacheControl []FileCacheRule

	// JSONIndexPages makes FS send a list of files as JSON if the client prefers application/json to text/html. Responses
	// with a list then have Vary: Accept. The JSON text is an object. Its member entries is an array with an object for
	// each file or directory, with the members name, type ("file" or "directory"), size in bytes, and modified (RFC 3339).
	// If there are more than 10,000 names, the member truncated is true. JSONIndexPages works only together with
	// GenerateIndexPages.
	JSONIndexPages bool

	// NoSniff makes FS add X-Content-Type-Options: nosniff to all responses. Browsers then never guess the type of a file.
	// By default, only lists of files have the header.
	NoSniff bool

	// Compress makes FS send compressible files with gzip coding to clients that accept gzip. The name of a precompressed
	// file is the name of the original file with ".gz" or CompressedFileSuffix appended. FS sends the precompressed file
	// if it exists, is not empty, and is not older than the original. If there is no such precompressed file, FS
	// compresses the original in memory. FS compresses only files of up to 1 MiB in memory. If the original is in the cache,
	// FS compresses the original once, at a higher level, and keeps the compressed copy in the cache. Without the cache, FS
	// compresses the original for each response, unless the client requests ranges. FS does not compress in memory if the
	// response already has Cache-Control: no-transform. FS also compresses directory listings. FS writes nothing to disk.
	//
	// If the response already has a Content-Encoding or a header with a digest of the file, FS sends the file
	// unchanged.
	Compress bool

	// CompressBrotli adds br to the codings that Compress uses. Precompressed files have the suffix ".br". CompressBrotli
	// works only together with Compress. If the client accepts several codings equally, FS chooses br over zstd, and zstd
	// over gzip.
	CompressBrotli bool

	// CompressZstd adds zstd to the codings that Compress uses. Precompressed files have the suffix ".zst".
	// CompressZstd works only together with Compress.
	CompressZstd bool

	// CompressRoot is the directory that contains the precompressed files. For example, the precompressed version of
	// css/a.css in Root is css/a.css.gz in CompressRoot. The default is Root.
	CompressRoot string

	// CompressedFileSuffix is an additional suffix of files that are precompressed with gzip. FS first looks for a file
	// with the suffix ".gz", and then for a file with CompressedFileSuffix. The default is FSCompressedFileSuffix.
	CompressedFileSuffix string

	// CompressedFileSuffixes maps each coding to an additional suffix of precompressed files. The keys are "gzip", "br"
	// and "zstd". If the map has an entry for "gzip", CompressedFileSuffix is ignored. The default is
	// FSCompressedFileSuffixes.
	CompressedFileSuffixes map[string]string

	// CheckEvery is how often FS compares a cached file with the disk. The default is one second: if a file changes, FS may
	// send the previous content for up to one second. If CheckEvery is negative, FS compares the file for each request. FS
	// then makes a few system calls for each request, but always sends the current content.
	CheckEvery time.Duration

	// CacheDuration is how long FS keeps a file in its cache if no client requests the file. FS then closes the file, and
	// frees its memory. The default is FSHandlerCacheDuration. FS also closes Root if it is not used for this time.
	CacheDuration time.Duration

	// SkipCache makes FS open each file for each request, and close the file after the response. By default, FS caches
	// files. See the section on the cache in the documentation of FS.
	SkipCache bool

	// CleanStop has no effect.
	//
	// Deprecated: FS starts no background goroutine.
	CleanStop chan struct{}
}

// FileCacheRule sets the Cache-Control header of files.
type FileCacheRule struct {
	// Pattern selects files by their names below Root, with the syntax of path.Match. For example, "*.html" matches all
	// HTML files, and "img/*.png" matches files in the directory img. A Pattern that ends in a slash, such as "assets/",
	// matches all files below the directory. A malformed Pattern matches nothing. An empty Pattern matches all files.
	Pattern string

	// Hashed restricts the rule to files whose names contain a hash of the content, such as app.3f2a9c1b.js or
	// app-3f2a9c1b.css. A hash has at least 8 hexadecimal digits in lower case, among them a letter and a decimal digit. A
	// dot or a hyphen precedes the hash, and a dot follows it. For other hashes, use a Pattern.
	Hashed bool

	// Value is the value of the header, for example [CacheImmutable].
	Value string
}

// CacheImmutable is a Cache-Control value for files that never change under their name. Browsers keep the file for a year
// and do not revalidate it (RFC 8246).
const CacheImmutable = "public, max-age=31536000, immutable"

// FSCompressedFileSuffix is the default of FS.CompressedFileSuffix. fasthttp gives this suffix to the compressed files
// that it creates.
const FSCompressedFileSuffix = ".fasthttp.gz"

// FSCompressedFileSuffixes is the default of FS.CompressedFileSuffixes. Do not change FSCompressedFileSuffixes while
// the program serves files. To use other suffixes, set FS.CompressedFileSuffixes.
var FSCompressedFileSuffixes = map[string]string{
	"gzip": FSCompressedFileSuffix,
	"br":   ".fasthttp.br",
	"zstd": ".fasthttp.zst",
}

// FSHandlerCacheDuration is the default of FS.CacheDuration.
const FSHandlerCacheDuration = 10 * time.Second

// CacheKind exists because fasthttp exports a type with this name.
//
// Deprecated: no function takes or returns a CacheKind.
type CacheKind uint8

// NewRequestHandler returns a handler that serves the files of f.
func (f *FS) NewRequestHandler() RequestHandler {
	tree := f.tree(f.Root)
	h := f.handler(tree, tree)
	if f.CompressRoot != "" {
		h = f.handler(tree, f.tree(f.CompressRoot))
	}
	return h.serve
}

// handler returns what serves the files of tree with the settings of f. The precompressed files are in coded.
func (f *FS) handler(tree, coded *filetree.Tree) *fileHandler {
	f.configure(tree, coded)
	if coded != tree {
		f.configure(coded, coded)
	}
	h := f.handlerOnce(tree)
	h.coded = coded
	return h
}

// handlerOnce returns what serves one file of tree, which has no cache.
func (f *FS) handlerOnce(tree *filetree.Tree) *fileHandler {
	return &fileHandler{
		rewrite:  f.PathRewrite,
		missing:  f.PathNotFound,
		page404:  nameOfPage(f.NotFoundFile),
		fallback: nameOfPage(f.Fallback),
		clean:    f.CleanURLs,
		redirect: f.CleanURLs && f.RedirectHTML,
		rules:    f.CacheControl,
		indexes:  f.IndexNames,
		list:     f.GenerateIndexPages,
		listJSON: f.JSONIndexPages,
		noSniff:  f.NoSniff,
		hide:     f.HideDotfiles,
		ranges:   f.AcceptByteRange,
		codings:  f.codings(),
		files:    tree,
		coded:    tree,
	}
}

// defaultCheckEvery is the default of FS.CheckEvery.
const defaultCheckEvery = time.Second

// configure gives a tree its settings. siblings is the tree that has its precompressed files.
func (f *FS) configure(tree, siblings *filetree.Tree) {
	s := filetree.Settings{Off: f.SkipCache, Every: f.CheckEvery, Keep: f.CacheDuration, Loader: filetree.Loader{
		Siblings: siblings, IsNegotiable: isNegotiable, Prepare: prepareFile, Encode: encodeVariant, IsStale: isOlder,
	}}
	s.Loader.Hash = files.ContentTag
	if s.Every == 0 {
		s.Every = defaultCheckEvery
	}
	if s.Keep <= 0 {
		s.Keep = FSHandlerCacheDuration
	}
	tree.Configure(s)
}

// tree returns the tree below root.
func (f *FS) tree(root string) *filetree.Tree {
	switch {
	case f.FS != nil:
		return filetree.Of(f.FS, files.CleanRoot(root))
	case root == "" && f.AllowEmptyRoot:
		return filetree.Unconfined("/")
	}
	return filetree.Below(root)
}

// FSHandler returns a handler that serves the files below root and supports byte ranges. For a directory, the handler
// serves index.html. If a directory has no index.html, the handler serves a list of files. The handler removes the
// first stripSlashes segments of the path before it looks up the file. See [NewPathSlashesStripper].
func FSHandler(root string, stripSlashes int) RequestHandler {
	f := &FS{
		Root:               root,
		IndexNames:         []string{"index.html"},
		GenerateIndexPages: true,
		AcceptByteRange:    true,
	}
	if stripSlashes > 0 {
		f.PathRewrite = NewPathSlashesStripper(stripSlashes)
	}
	return f.NewRequestHandler()
}
