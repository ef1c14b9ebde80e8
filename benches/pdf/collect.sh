#!/bin/sh
# Downloads Debian packages that hold PDFs, unpacks them into SCRATCH/unpacked, and lists one hundred
# of the PDFs in SCRATCH/pdfs.txt: of each package the smallest, the median and the largest below
# 2 MB, in the order of the list below. Usage: collect.sh SCRATCH. Needs apt-get, dpkg-deb, gzip.
set -eu
mkdir -p "$1/debs" "$1/unpacked"
scratch=$(realpath "$1")
packages="r-doc-pdf debian-refcard live-manual-pdf installation-guide-amd64 debian-handbook
    packaging-tutorial debian-history debmake-doc parallel pari-doc lilypond-doc-pdf therion-doc
    db5.3-doc xorg-docs gretl-doc genometools-doc maxima-doc cups-filters groff lyx-common
    gnucash-docs krb5-doc asymptote-doc python-matplotlib-data r-cran-survival
    r-cran-metafor octave-doc smlnj-doc axiom-doc libsuitesparse-doc glpk-doc bacula-doc nut-doc
    clips-doc tipa-doc muttprint-manual python-astropy-doc graphviz-doc erlang-doc r-cran-rcpp
    libstxxl-doc yacas-doc liggghts-doc goldencheetah dblatex jmeter-help expeyes"
cd "$scratch/debs"
for package in $packages; do
    [ -d "../unpacked/$package" ] && continue
    apt-get download -qq "$package" || { echo "$package: not to be had" >&2; continue; }
    dpkg-deb -x "$package"_*.deb "../unpacked/$package"
    rm "$package"_*.deb
done
cd ../unpacked
find . -type f -name '*.pdf.gz' -exec gzip -df {} +
for package in $packages; do
    find "$package" -type f -name '*.pdf' -size -2000k -printf '%s %p\n' 2>/dev/null | sort -n |
        awk '{ path[NR] = $2 } END { if (NR) { print path[1]
            if (NR > 1) print path[NR]
            if (NR > 2) print path[int((NR + 1) / 2)] } }'
done | head -100 | sed "s|^|$scratch/unpacked/|" > ../pdfs.txt
wc -l < ../pdfs.txt
