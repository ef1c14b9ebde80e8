#!/bin/sh
# Collects about 220 real files of all formats that the tool reads from Debian packages, at most 25 of
# a format, into SCRATCH/files; `nearkin mirror SCRATCH/x.nearkin SCRATCH/files -v` then says what was
# not read and why. Usage: collect.sh SCRATCH. Needs apt-get, dpkg-deb.
set -eu
mkdir -p "$1/debs" "$1/unpacked" "$1/files"
scratch=$(realpath "$1")
packages="toppic-common finalcif r-cran-officer libreoffice-dmaths previsat libevas-loaders
    golang-github-gabriel-vasile-mimetype-dev libreoffice-dev-doc live-manual-odf jfractionlab
    python3-relatorio whitedune-docs fonts-sil-taiheritagepro calligrawords-data simrisc tiatracker
    libmapsforge-java-doc live-manual-epub debian-history debmake-doc snmptt debian-edu-doc-legacy-en
    debian-edu-doc-legacy-nl sc3-plugins-language cxref-doc gworkspace-common
    golang-github-gatherstars-com-jwz-dev mailman3 fuzzyocr debian-policy packaging-tutorial krb5-doc
    r-cran-survival expeyes"
cd "$scratch/debs"
for package in $packages; do
    [ -d "../unpacked/$package" ] && continue
    apt-get download -qq "$package" || { echo "$package: not to be had" >&2; continue; }
    dpkg-deb -x "$package"_*.deb "../unpacked/$package"
    rm "$package"_*.deb
done
cd ../unpacked
for ending in docx pptx odt odp epub rtf eml html pdf txt gz; do
    mkdir -p "../files/$ending"
    # Evenly over all that there are.
    find . -type f -name "*.$ending" -size +0 | sort > "../$ending.all"
    awk -v all="$(wc -l < "../$ending.all")" 'all <= 25 || int(NR * 25 / all) > int((NR - 1) * 25 / all)' \
        "../$ending.all" | while read -r path; do
        cp "$path" "../files/$ending/$(echo "$path" | cut -d/ -f2)-$(basename "$path")"
    done
done
find "$scratch/files" -type f | sed 's|.*\.||' | sort | uniq -c
