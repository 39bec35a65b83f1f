"""test_exports.py NM LIBRARY SYMBOLS HEADER...: liblayover exports the functions that its headers declare, and nothing else,
each with the version that include/layover.map gives it; the Debian package's list SYMBOLS has the same."""
import re
import subprocess
import sys


VERSION = "LAYOVER_0"


def declared(paths):
    names = set()
    for path in paths:
        with open(path, encoding="utf-8") as file:
            text = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.DOTALL)
        names |= set(re.findall(r"LAYOVER_API\s[^;{]*?\b(layover_\w+)\(", text))
    return names


def exported(nm, path):
    """{name: version}, without the version's own symbol"""
    listing = subprocess.run([nm, "-D", "--defined-only", path], capture_output=True, text=True, check=True).stdout
    symbols = [line.split()[-1].partition("@@") for line in listing.splitlines() if line.strip()]
    return {name: version for name, _, version in symbols if name != VERSION}


def packaged(path):
    """{name: version} of a file debian/PACKAGE.symbols"""
    with open(path, encoding="utf-8") as file:
        symbols = [line.split()[0].partition("@") for line in file if line.startswith(" ")]
    return {name: version for name, _, version in symbols if name != VERSION}


def main():
    nm, library, symbols, *headers = sys.argv[1:]
    wanted, versions = declared(headers), exported(nm, library)
    found, other = set(versions), sorted(name for name, version in versions.items() if version != VERSION)
    for name in sorted(wanted - found):
        print(f"a header declares {name}; {library} does not export it")
    for name in sorted(found - wanted):
        print(f"{library} exports {name}; no header declares it")
    for name in other:
        print(f"{name} has the version '{versions[name]}', not {VERSION}")
    listed = packaged(symbols)
    for name in sorted(set(listed.items()) ^ set(versions.items())):
        print(f"{symbols} and {library} differ in {name[0]}@{name[1]}")
    print(f"exports: {len(wanted)} declared, {len(found)} exported")
    sys.exit(0 if wanted and wanted == found and listed == versions and not other else 1)


if __name__ == "__main__":
    main()
