# frozen_string_literal: true

# The app of cmd/matrix for puma. See cmd/peer/matrix.go for the same app on the other servers.

PIECE = 1024
TEXT = { "content-type" => "text/plain" }.freeze

# Chunked yields a body piece by piece and does not say how long it is.
class Chunked
  def initialize(pieces) = @pieces = pieces
  def each(&block) = @pieces.each(&block)
end

# Sent is a file. Newer versions of puma call to_path and send the file by sendfile, older ones call each.
class Sent
  attr_reader :to_path

  def initialize(path) = @to_path = path

  def each
    File.open(@to_path, "rb") do |f|
      while (part = f.read(8192))
        yield part
      end
    end
  end
end

bodies = Dir[File.join(ENV.fetch("MATRIX_FILES"), "file", "*")].to_h do |path|
  text = File.binread(path).freeze
  pieces = (0...text.bytesize).step(PIECE).map { |at| text.byteslice(at, PIECE).freeze }.freeze
  [File.basename(path), [path, text, pieces]]
end

run(lambda do |env|
  _, kind, name = env["PATH_INFO"].split("/")
  path, text, pieces = bodies[name]
  return [404, {}, []] unless path

  head = kind == "chunked" ? TEXT.dup : TEXT.merge("content-length" => text.bytesize.to_s)
  case kind
  when "bytes" then [200, head, pieces]
  when "string" then [200, head, [text]]
  when "chunked" then [200, head, Chunked.new(pieces)]
  else [200, TEXT.merge("content-length" => File.size(path).to_s), Sent.new(path)]
  end
end)
