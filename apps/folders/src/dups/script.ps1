# Before a copy goes, both files are looked at again: files and no links, in folders that are reached
# without links, equal byte for byte (by length and SHA-256). Anything else stays, and is named.
# Exit status: 0 all was done, 1 something stayed. Run it by:
#   powershell -ExecutionPolicy Bypass -File FILE
Set-StrictMode -Version 2
$ErrorActionPreference = 'Stop'
$did = 0
$stayed = 0
$absent = 0

# Prints a message. A control character in a name must not reach the terminal.
function Say([string] $text) {
    [Console]::Error.WriteLine(($text -replace '[\x00-\x1f\x7f]', '?'))
}

function Stays([string] $file, [string] $why) {
    $script:stayed++
    Say "kept: ${file}: $why"
}

# Whether a path leads to a file that is no link, in a folder that is reached without links.
function IsReal([string] $path) {
    if (-not [IO.File]::Exists($path)) { return $false }
    $at = Get-Item -LiteralPath $path -Force
    while ($null -ne $at) {
        $kind = [string] $at.LinkType
        if ($kind -eq 'SymbolicLink' -or $kind -eq 'Junction') { return $false }
        if ($at -is [IO.FileInfo]) { $at = $at.Directory } else { $at = $at.Parent }
        if ($null -ne $at) { $at = Get-Item -LiteralPath $at.FullName -Force }
    }
    return $true
}

# Whether nothing has this name.
function IsFree([string] $path) {
    return -not ([IO.File]::Exists($path) -or [IO.Directory]::Exists($path))
}

# Length and SHA-256 of a file. While it is read, nobody can write to it.
function ContentOf([string] $path) {
    $stream = [IO.File]::Open($path, 'Open', 'Read', 'Read')
    $hash = [Security.Cryptography.SHA256]::Create()
    try {
        $digest = [BitConverter]::ToString($hash.ComputeHash($stream))
        return "$($stream.Length) $digest"
    } finally {
        $stream.Dispose()
        $hash.Dispose()
    }
}

# Whether both are files, with equal bytes.
function AreEqual([string] $kept, [string] $copy) {
    if (-not ((IsReal $kept) -and (IsReal $copy))) { return $false }
    return (ContentOf $kept) -ceq (ContentOf $copy)
}

# Whether both files have the checksums (as `cksum` prints them) of those that were compared.
function AreAsSeen([string] $kept, [string] $copy, [string] $sumOfKept, [string] $sumOfCopy) {
    if (-not ((IsReal $kept) -and (IsReal $copy))) { return $false }
    return ([Cksum]::Of($kept) -ceq $sumOfKept) -and ([Cksum]::Of($copy) -ceq $sumOfCopy)
}

# Looks at a copy before anything is done with it.
function IsThere([string] $copy) {
    if (IsFree $copy) {
        $script:absent++
        return $false
    }
    if (IsReal $copy) { return $true }
    Stays $copy 'it is a folder now, or a link leads there'
    return $false
}

# Gives a copy another name in its folder, has it judged, and acts or gives it its name back. If the
# other name takes the kept file away, too, both are one file, and it gets its name back.
function Aside([string] $copy, [scriptblock] $judge, [string] $unlike, [scriptblock] $act) {
    $aside = [IO.Path]::Combine([IO.Path]::GetDirectoryName($copy), "nearkin-$PID.aside")
    $isAside = $false
    try {
        if (-not (IsFree $aside)) { throw "there is a file $aside" }
        [IO.File]::Move($copy, $aside)
        $isAside = $true
        if (-not (& $judge $aside)) {
            Stays $copy $unlike
            return
        }
        & $act $aside
        $isAside = -not (IsFree $aside)
        $script:did++
    } catch {
        Stays $copy $_.Exception.Message
    } finally {
        # Also after Ctrl-C.
        if ($isAside -and -not (IsFree $aside)) {
            try { [IO.File]::Move($aside, $copy) } catch { Say "the file is now: $aside" }
        }
    }
}

# Removes a copy, an exact copy of the kept file.
function Copy-Of([string] $kept, [string] $copy) {
    if (-not (IsThere $copy)) { return }
    Aside $copy { param($aside) AreEqual $kept $aside } "no longer a copy of $kept" {
        param($aside) [IO.File]::Delete($aside)
    }
}

# Removes a file that differs from the kept one. The sums are those of the files that were compared.
function Near-Copy([string] $kept, [string] $copy, [string] $sumOfKept, [string] $sumOfCopy) {
    if (-not (IsThere $copy)) { return }
    Aside $copy { param($aside) AreAsSeen $kept $aside $sumOfKept $sumOfCopy } "this file or $kept has changed" {
        param($aside) [IO.File]::Delete($aside)
    }
}

# Replaces a copy by a hard link to the kept file.
function Link-To([string] $kept, [string] $copy) {
    if (-not (IsThere $copy)) { return }
    $rights = {
        param($file) (Get-Acl -LiteralPath $file).Sddl
    }
    if (-not $anyOwner -and (IsReal $kept) -and ((& $rights $kept) -cne (& $rights $copy))) {
        Stays $copy 'its owner or permissions would change'
        return
    }
    Aside $copy { param($aside) AreEqual $kept $aside } "no longer a copy of $kept" {
        param($aside)
        $said = & "$env:SystemRoot\System32\fsutil.exe" hardlink create $copy $kept
        if ($LASTEXITCODE -ne 0 -or -not (AreEqual $kept $copy)) { throw "it cannot be linked: $said" }
        [IO.File]::Delete($aside)
    }
}

function Finish {
    Say "$did $what, $stayed kept, $absent not there any more"
    if ($stayed -eq 0) { exit 0 }
    exit 1
}
