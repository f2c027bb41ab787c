import { createTheme, type CSSVariablesResolver } from '@mantine/core';

export const theme = createTheme({
  primaryColor: 'brand',
  primaryShade: 6,
  colors: {
    brand: ['#f0effe', '#dedbfc', '#c3bdf8', '#a49bff', '#8177ee', '#6156e2', '#4b3fd6', '#3d32b8', '#322a97', '#282277'],
  },
  fontFamily: "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', 'DejaVu Sans', sans-serif",
  defaultRadius: 'md',
  respectReducedMotion: true,
  // A dialog's header is no landmark of the page.
  components: { Modal: { defaultProps: { attributes: { header: { role: 'presentation' } } } } },
});

// Colours of text whose contrast with the background is at least 4.5 : 1.
export const variables: CSSVariablesResolver = () => ({
  variables: {},
  light: {
    '--mantine-color-dimmed': '#5d5d70', '--mantine-color-placeholder': '#6a6a7c', '--mantine-color-error': '#b3261e',
    '--mantine-color-anchor': '#4b3fd6', '--mantine-color-red-outline': '#b3261e',
    '--mantine-color-orange-outline': '#964200', '--mantine-color-gray-outline': '#5d5d70',
  },
  dark: {
    '--mantine-color-dimmed': '#a9a9bb', '--mantine-color-placeholder': '#a2a2b5', '--mantine-color-error': '#ff8a80',
    '--mantine-color-anchor': '#b3acff', '--mantine-color-red-outline': '#ff8a80',
    '--mantine-color-orange-outline': '#ffb366', '--mantine-color-gray-outline': '#a9a9bb',
  },
});
