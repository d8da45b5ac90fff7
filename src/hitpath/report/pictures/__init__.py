"""Single pictures of an analysis as SVG and PNG files, each with its title and its sentence."""
