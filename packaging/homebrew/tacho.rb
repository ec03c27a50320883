# Whoever publishes the files puts their address in the place of example.invalid.
# scripts/package tar writes version and checksums; one of zeros stands for a file that has not been made yet, which brew then refuses.
class Tacho < Formula
  desc "Records what a job uses: CPU, memory, disk, network and GPU"
  homepage "https://example.invalid/tacho"
  license "Apache-2.0"
  version "0.1.0"

  on_macos do
    on_arm do
      url "https://example.invalid/tacho/releases/download/v#{version}/tacho-#{version}-macos-arm64.tar.gz"
      sha256 "0000000000000000000000000000000000000000000000000000000000000000"
    end
    on_intel do
      url "https://example.invalid/tacho/releases/download/v#{version}/tacho-#{version}-macos-amd64.tar.gz"
      sha256 "0000000000000000000000000000000000000000000000000000000000000000"
    end
  end

  on_linux do
    on_arm do
      url "https://example.invalid/tacho/releases/download/v#{version}/tacho-#{version}-linux-arm64.tar.gz"
      sha256 "0000000000000000000000000000000000000000000000000000000000000000"
    end
    on_intel do
      url "https://example.invalid/tacho/releases/download/v#{version}/tacho-#{version}-linux-amd64.tar.gz"
      sha256 "0000000000000000000000000000000000000000000000000000000000000000"
    end
  end

  def install
    bin.install Dir["bin/*"]
    libexec.install Dir["libexec/*"]
    man1.install Dir["share/man/man1/*"]
    bash_completion.install "share/bash-completion/completions/tacho"
    zsh_completion.install "share/zsh/site-functions/_tacho"
    fish_completion.install "share/fish/vendor_completions.d/tacho.fish"
    doc.install Dir["share/doc/tacho/*"]
  end

  test do
    system bin/"tacho", "run", "-q", "--", "true"
  end
end
