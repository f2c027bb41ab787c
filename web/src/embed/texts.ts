/** The texts of a frame on a shop's page, by language. */
export const texts = {
  en: { title: 'Live show', open: 'Open the show in a new window' },
  de: { title: 'Live-Show', open: 'Die Show in einem neuen Fenster öffnen' },
};
