"""test_exports.py NM LIBRARY HEADER: liblayover exports the functions that its header declares, and nothing else."""
import re
import subprocess
import sys


def declared(path):
    with open(path, encoding="utf-8") as file:
        text = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.DOTALL)
    return set(re.findall(r"LAYOVER_API\s[^;{]*?\b(layover_\w+)\(", text))


def exported(nm, path):
    listing = subprocess.run([nm, "-D", "--defined-only", path], capture_output=True, text=True, check=True).stdout
    return {line.split()[-1].split("@")[0] for line in listing.splitlines() if line.strip()}


def main():
    nm, library, header = sys.argv[1:]
    wanted, found = declared(header), exported(nm, library)
    for name in sorted(wanted - found):
        print(f"{header} declares {name}; {library} does not export it")
    for name in sorted(found - wanted):
        print(f"{library} exports {name}; {header} does not declare it")
    print(f"exports: {len(wanted)} declared, {len(found)} exported")
    sys.exit(0 if wanted and wanted == found else 1)


if __name__ == "__main__":
    main()
